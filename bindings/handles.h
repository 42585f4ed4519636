// The engine's model and session as Python holds them: freed with their objects, and safe for many threads.
#pragma once

#include <nanobind/nanobind.h>

#include <mutex>
#include <string>
#include <vector>

#include "stap.h"

namespace nb = nanobind;

struct EngineError {
    stap_status status;
    std::string message;
};

inline void check(stap_status status, const char* message = nullptr) {
    if (status != STAP_OK) throw EngineError{status, message && *message ? message : stap_error_string(status)};
}

constexpr size_t kMostRanked = 4096;  // more apps than a session keeps

struct Model {
    stap_model* handle;
    Model(const Model&) = delete;
    explicit Model(stap_model* model) : handle(model) {}
    ~Model() { stap_model_free(handle); }
    stap_model_info info() const {
        stap_model_info info;
        check(stap_model_get_info(handle, &info));
        return info;
    }
};

// For many threads: who calls holds the lock until what was answered is copied. Nobody waits for it with the GIL in
// hand, and no Python object is made under it: that may run any code.
struct Session {
    stap_session* handle;
    uint32_t vocabulary;
    std::vector<stap_candidate> best;
    std::mutex lock;
    Session(const Session&) = delete;
    Session(stap_session* session, const Model& model)
        : handle(session), vocabulary(model.info().vocabulary), best(kMostRanked) {}
    ~Session() { stap_session_free(handle); }
};

// What takes time lets other threads run Python meanwhile.
template <typename Work>
void check_unlocked(Work work, const char* message = nullptr) {
    stap_status status;
    {
        nb::gil_scoped_release release;
        status = work();
    }
    check(status, message);
}

template <typename Work>
void check_slow(Session& session, Work work) {
    check_unlocked([&] {
        const std::lock_guard<std::mutex> alone(session.lock);
        return work();
    });
}

// What takes none keeps the GIL, unless another thread is at work in the session.
template <typename Work>
void check_quick(Session& session, Work work) {
    if (!session.lock.try_lock()) return check_slow(session, work);
    const std::lock_guard<std::mutex> alone(session.lock, std::adopt_lock);
    check(work());
}

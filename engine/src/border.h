// Behind every C function: everything thrown becomes a status, and a session is one caller's, whole or broken.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <new>

#include "failure.h"
#include "person/session.h"
#include "stap.h"

struct stap_model {
    std::shared_ptr<const stap::Model> shared;  // with its sessions
};

struct stap_session {
    std::unique_ptr<stap::Session> person;
    mutable std::atomic<bool> busy{false};  // a call is at work in it
    bool broken = false;                    // a call left it half changed
};

namespace stap {

inline void say(char* message, size_t size, const char* text) {
    if (!message || size == 0) return;
    const size_t length = std::min(std::strlen(text), size - 1);
    std::memcpy(message, text, length);
    message[length] = '\0';
}

template <typename Work>
stap_status guarded(Work work, char* message = nullptr, size_t size = 0) noexcept {
    try {
        work();
        return STAP_OK;
    } catch (const Failure& failure) {
        say(message, size, failure.message.c_str());
        return failure.status;
    } catch (const std::bad_alloc&) {
        say(message, size, stap_error_string(STAP_ERROR_MEMORY));
        return STAP_ERROR_MEMORY;
    } catch (...) {
        say(message, size, stap_error_string(STAP_ERROR_INTERNAL));
        return STAP_ERROR_INTERNAL;
    }
}

// A call on a session: the only one at work, on one that is whole.
template <typename Work>
stap_status alone(const stap_session& session, Work work) noexcept {
    if (session.busy.exchange(true, std::memory_order_acquire)) return STAP_ERROR_BUSY;
    const stap_status status = session.broken ? STAP_ERROR_BROKEN : guarded(work);
    session.busy.store(false, std::memory_order_release);
    return status;
}

// The same for what changes it. A Failure leaves it whole; where memory ends, it may be half changed.
template <typename Work>
stap_status changing(stap_session& session, Work work) noexcept {
    return alone(session, [&] {
        try {
            work();
        } catch (const Failure&) {
            throw;
        } catch (...) {
            session.broken = true;
            throw;
        }
    });
}

}  // namespace stap

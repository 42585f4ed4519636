// A person made up on the spot, and a session fed with them.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "check.h"
#include "hash.h"
#include "stap.h"
#include "tiny.h"

struct ModelFree {
    void operator()(stap_model* model) const { stap_model_free(model); }
};
struct SessionFree {
    void operator()(stap_session* session) const { stap_session_free(session); }
};
using ModelPointer = std::unique_ptr<stap_model, ModelFree>;
using SessionPointer = std::unique_ptr<stap_session, SessionFree>;

constexpr stap_strategy kStrategies[] = {STAP_ISWI, STAP_RESET, STAP_REPREFILL, STAP_ROLLING};

inline ModelPointer load(const std::string& file, stap_dtype weights = STAP_AS_STORED) {
    stap_model* model = nullptr;
    CHECK(stap_model_load_buffer(file.data(), file.size(), weights, &model, nullptr, 0) == STAP_OK);
    return ModelPointer(model);
}

inline SessionPointer open(const stap_model* model, const stap_options& options) {
    stap_session* session = nullptr;
    CHECK(stap_session_new(model, &options, &session) == STAP_OK);
    return SessionPointer(session);
}

inline SessionPointer restore(const stap_model* model, const std::vector<uint8_t>& state) {
    stap_session* session = nullptr;
    CHECK(stap_session_restore(model, STAP_KERNELS_BEST, state.data(), state.size(), &session) == STAP_OK);
    return SessionPointer(session);
}

inline std::vector<uint8_t> snapshot(const stap_session* session) {
    size_t size = 0;
    CHECK(stap_session_snapshot(session, nullptr, 0, &size) == STAP_ERROR_ROOM);
    std::vector<uint8_t> state(size);
    CHECK(stap_session_snapshot(session, state.data(), state.size(), &size) == STAP_OK);
    return state;
}

inline std::string app_of(uint64_t i, uint64_t apps) { return "app" + std::to_string(stap::hash_mix(i / 2) % apps); }

// The i-th event of a person with so many apps.
inline void observe(stap_session* session, uint64_t i, uint64_t apps = 9) {
    const std::string app = app_of(i, apps);
    const double minutes = 29e6 + 3.7 * double(i) + double(stap::hash_mix(i) % 100) / 100;
    CHECK(stap_session_observe(session, app.data(), app.size(), i % 2 == 0, minutes, stap_hour_of_day(minutes)) ==
          STAP_OK);
}

// All apps that can be ranked, best first; after them the unseen.
struct Answer {
    std::vector<std::string> apps;
    std::vector<uint32_t> index;
    std::vector<float> probability;
};

inline Answer answer(stap_session* session) {
    stap_candidate best[64];
    size_t count = 0;
    CHECK(stap_session_rank(session, 64, best, &count) == STAP_OK);
    Answer out;
    for (size_t i = 0; i < count; ++i) {
        out.apps.emplace_back(best[i].app, best[i].length);
        out.index.push_back(best[i].index);
        out.probability.push_back(best[i].probability);
    }
    float unseen = -1;
    CHECK(stap_session_unseen(session, &unseen) == STAP_OK);
    out.probability.push_back(unseen);
    return out;
}

inline std::vector<float> logits(stap_session* session, size_t vocabulary = 12) {
    std::vector<float> values(vocabulary);
    CHECK(stap_session_logits(session, values.data(), values.size()) == STAP_OK);
    return values;
}

inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}
inline bool same_bits(const Answer& a, const Answer& b) {
    return a.apps == b.apps && a.index == b.index && same_bits(a.probability, b.probability);
}

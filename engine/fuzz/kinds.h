// What the targets on sessions share: three kinds of models, as small as they come, and the hash of a snapshot.
#pragma once

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "hash.h"
#include "person/session.h"
#include "stap.h"
#include "tiny.h"

constexpr uint32_t kKinds = 3;  // pure, with evidence, and with a launch head

inline void need(bool fine) {
    if (!fine) std::abort();
}

inline const stap_model* load_kind(uint32_t kind) {
    tiny::Config c = {6, 8, 4, 1, 1, 4};
    c.tied_apps = c.mixed_keys = kind == 0;
    c.pointing_heads = kind == 0;
    c.evidence = kind > 0 ? 3 : 0;
    c.candidate_heads = kind > 0 ? 1 : 0;
    c.launches = kind > 1 ? 3 : 0;
    const std::string file = tiny::model(c);
    stap_model* made = nullptr;
    need(stap_model_load_buffer(file.data(), file.size(), STAP_AS_STORED, &made, nullptr, 0) == STAP_OK);
    return made;
}

inline const stap_model* model_of(uint32_t kind) {
    static const stap_model* const models[kKinds] = {load_kind(0), load_kind(1), load_kind(2)};
    return models[kind % kKinds];
}

inline std::vector<uint8_t> state_of(const stap_session* session) {
    static std::vector<uint8_t> room;  // enough after a while: asking for the size first would cost a second snapshot
    size_t size = 0;
    if (stap_session_snapshot(session, room.data(), room.size(), &size) == STAP_ERROR_ROOM) {
        room.resize(size);
        need(stap_session_snapshot(session, room.data(), room.size(), &size) == STAP_OK);
    }
    need(size > 0 && size <= room.size());
    return {room.data(), room.data() + size};
}

// The hash at a snapshot's end, made right again.
inline void repair(std::vector<uint8_t>& state) {
    const uint64_t hash = stap::hash_bytes(state.data(), state.size() - 8, stap::kSnapshotVersion);
    std::memcpy(state.data() + state.size() - 8, &hash, 8);
}

// A snapshot begins with its magic, its version and the model's fingerprint, and ends with its hash. What stands
// between them is an input of fuzz_restore, after a byte that names the kind of model.
constexpr size_t kGuard = 8 + 4 + 8;

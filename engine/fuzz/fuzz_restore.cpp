// Any bytes as a snapshot, behind a magic, a fingerprint and a hash that are right: refused, or a session that can be
// used in every way.
#include "kinds.h"

namespace {

const std::vector<uint8_t>& guard(uint32_t kind) {
    static std::vector<uint8_t> guards[kKinds];
    std::vector<uint8_t>& guard = guards[kind];
    if (guard.empty()) {
        stap_session* session = nullptr;
        need(stap_session_new(model_of(kind), nullptr, &session) == STAP_OK);
        guard = state_of(session);
        guard.resize(kGuard);
        stap_session_free(session);
    }
    return guard;
}

// Numbers that are none may come of forged ones; nothing else may be wrong with a session that was restored.
void fine(stap_status status) {
    need(status == STAP_OK || status == STAP_ERROR_NUMBER || status == STAP_ERROR_EMPTY || status == STAP_ERROR_APP);
}

void ask(stap_session* session) {
    stap_candidate best[16];
    stap_reason reasons[4];
    size_t count = 0;
    float unseen = 0;
    const stap_name hidden = {"1", 1};
    const stap_filter filter = {nullptr, 0, &hidden, 1};
    fine(stap_session_rank(session, 16, best, &count));
    for (double minutes : {STAP_WHENEVER, 29e6 + 40}) {
        fine(stap_session_rank_at(session, minutes, 7, 16, best, &count, &unseen));
        const std::string first = count ? std::string(best[0].app, best[0].length) : "1";
        fine(stap_session_why(session, first.data(), first.size(), minutes, 7, 4, reasons, &count));
    }
    fine(stap_session_rank_among(session, STAP_OTHER, 0, &filter, 16, best, &count, &unseen));
}

void live(stap_session* session) {
    ask(session);
    fine(stap_session_catch_up(session, 3, nullptr));
    fine(stap_session_notify(session, "2", 1, 29e6 + 39));
    const char* const apps[] = {"1", "new", "2"};
    for (int i = 0; i < 3; ++i) fine(stap_session_observe(session, apps[i], std::strlen(apps[i]), i != 1, 29e6 + i, 9));
    ask(session);
    fine(stap_session_forget(session, "1", 1));
    fine(stap_session_observe(session, "3", 1, STAP_OPEN, 29e6 + 60, 10));
    fine(stap_session_catch_up(session, 100, nullptr));
    ask(session);
    state_of(session);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size == 0) return 0;
    const uint32_t kind = data[0] % kKinds;
    std::vector<uint8_t> state = guard(kind);
    state.insert(state.end(), data + 1, data + size);
    state.resize(state.size() + 8);
    repair(state);
    stap_session* session = nullptr;
    const stap_status status =
        stap_session_restore(model_of(kind), STAP_KERNELS_BEST, state.data(), state.size(), &session);
    need(status == STAP_OK || status == STAP_ERROR_STATE);
    if (status == STAP_OK) live(session);
    stap_session_free(session);
    return 0;
}

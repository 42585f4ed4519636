// Snapshot and restore at every step of every stage: the same bits afterwards. Damaged snapshots are refused.
#include "driver.h"

namespace {

void goes_on_with_the_same_bits(uint64_t step) {
    const ModelPointer model = load(tiny::model());
    for (int strategy = STAP_ISWI; strategy <= STAP_ROLLING; ++strategy)
        for (int cache = STAP_F32; cache <= STAP_I8; ++cache) {
            stap_options options = stap_options_default();
            options.strategy = strategy, options.cache = cache, options.app_limit = 7;  // with apps forgotten
            for (uint64_t cut = 0; cut < 40; cut += step) {
                const SessionPointer session = open(model.get(), options);
                for (uint64_t i = 0; i < cut; ++i) {
                    observe(session.get(), i);
                    if (i % 3 == 0) logits(session.get());
                    if (i % 11 == 0) stap_session_catch_up(session.get(), 3, nullptr);
                }
                const std::vector<uint8_t> state = snapshot(session.get());
                const SessionPointer other = restore(model.get(), state);
                CHECK(snapshot(other.get()) == state);
                if (cut > 0) CHECK(same_bits(logits(session.get()), logits(other.get())));
                for (uint64_t i = cut; i < cut + 20; ++i) {
                    observe(session.get(), i), observe(other.get(), i);
                    CHECK(same_bits(logits(session.get()), logits(other.get())));
                }
            }
        }
}

void damaged_ones_are_refused() {
    const ModelPointer model = load(tiny::model()), other = load(tiny::model(), STAP_F16);
    const SessionPointer session = open(model.get(), stap_options_default());
    for (uint64_t i = 0; i < 30; ++i) observe(session.get(), i), logits(session.get());
    const std::vector<uint8_t> state = snapshot(session.get());
    stap_session* none = nullptr;
    CHECK(stap_session_restore(other.get(), STAP_KERNELS_BEST, state.data(), state.size(), &none) == STAP_ERROR_STATE);
    for (size_t size = 0; size < state.size(); size += 13) CHECK(stap_session_restore(model.get(), STAP_KERNELS_BEST, state.data(), size, &none) == STAP_ERROR_STATE);
    for (size_t at = 0; at < state.size(); at += 7) {
        std::vector<uint8_t> damaged = state;
        damaged[at] ^= 0x10;
        CHECK(stap_session_restore(model.get(), STAP_KERNELS_BEST, damaged.data(), damaged.size(), &none) == STAP_ERROR_STATE);
    }
    std::vector<uint8_t> longer = state;
    longer.push_back(0);
    CHECK(stap_session_restore(model.get(), STAP_KERNELS_BEST, longer.data(), longer.size(), &none) == STAP_ERROR_STATE);
    CHECK(none == nullptr);
    std::vector<uint8_t> small(state.size() - 1, 7);
    size_t size = 0;
    CHECK(stap_session_snapshot(session.get(), small.data(), small.size(), &size) == STAP_ERROR_ROOM && size == state.size() && small[0] == 7);
}

}  // namespace

int main(int argc, char**) {
    goes_on_with_the_same_bits(argc > 1 ? 7 : 1);  // any argument: quicker, for an emulator
    damaged_ones_are_refused();
    return failures != 0;
}

// Snapshot and restore at every step of every stage: the same bits afterwards. Damaged snapshots are refused.
#include <algorithm>

#include "driver.h"
#include "person/session.h"

namespace {

void goes_on_with_the_same_bits(const tiny::Config& config, uint64_t step) {
    const ModelPointer model = load(tiny::model(config));
    for (int strategy = STAP_ISWI; strategy <= STAP_ROLLING; ++strategy)
        for (int cache = STAP_F32; cache <= STAP_I8; ++cache) {
            stap_options options = stap_options_default();
            options.strategy = strategy;
            options.cache = cache;
            options.app_limit = 7;  // with apps forgotten
            for (uint64_t cut = 0; cut < 40; cut += step) {
                const SessionPointer session = open(model.get(), options);
                for (uint64_t i = 0; i < cut; ++i) {
                    observe(session.get(), i);
                    if (i % 3 == 0) logits(session.get());
                    if (i % 11 == 0) stap_session_catch_up(session.get(), 3, nullptr);
                    const std::string app = app_of(i, 9);
                    if (i % 5 == 0) stap_session_notify(session.get(), "app2", 4, 29e6 + 3.7 * double(i));
                    if (i % 13 == 12) CHECK(stap_session_forget(session.get(), app.data(), app.size()) == STAP_OK);
                }
                const std::vector<uint8_t> state = snapshot(session.get());
                const SessionPointer other = restore(model.get(), state);
                CHECK(snapshot(other.get()) == state);
                if (cut > 0) CHECK(same_bits(answer(session.get()), answer(other.get())));
                for (uint64_t i = cut; i < cut + 20; ++i) {
                    observe(session.get(), i);
                    observe(other.get(), i);
                    CHECK(same_bits(logits(session.get()), logits(other.get())) &&
                          same_bits(answer(session.get()), answer(other.get())));
                }
            }
        }
}

void damaged_ones_are_refused(const tiny::Config& config) {
    const ModelPointer model = load(tiny::model(config)), other = load(tiny::model(config), STAP_F16);
    const SessionPointer session = open(model.get(), stap_options_default());
    for (uint64_t i = 0; i < 30; ++i) {
        observe(session.get(), i);
        logits(session.get());
    }
    const std::vector<uint8_t> state = snapshot(session.get());
    stap_session* none = nullptr;
    CHECK(stap_session_restore(other.get(), STAP_KERNELS_BEST, state.data(), state.size(), &none) == STAP_ERROR_STATE);
    for (size_t size = 0; size < state.size(); size += 13)
        CHECK(stap_session_restore(model.get(), STAP_KERNELS_BEST, state.data(), size, &none) == STAP_ERROR_STATE);
    for (size_t at = 0; at < state.size(); at += 7) {
        std::vector<uint8_t> damaged = state;
        damaged[at] ^= 0x10;
        CHECK(stap_session_restore(model.get(), STAP_KERNELS_BEST, damaged.data(), damaged.size(), &none) ==
              STAP_ERROR_STATE);
    }
    std::vector<uint8_t> longer = state;
    longer.push_back(0);
    CHECK(stap_session_restore(model.get(), STAP_KERNELS_BEST, longer.data(), longer.size(), &none) ==
          STAP_ERROR_STATE);
    CHECK(none == nullptr);
    std::vector<uint8_t> small(state.size() - 1, 7);
    size_t size = 0;
    CHECK(stap_session_snapshot(session.get(), small.data(), small.size(), &size) == STAP_ERROR_ROOM &&
          size == state.size() && small[0] == 7);
}

// Damage behind a hash that was made right again: refused, or a session that can be used. (Magic and version first.)
void forged_ones_are_refused_or_harmless(const tiny::Config& config, size_t stride) {
    const ModelPointer model = load(tiny::model(config));
    stap_options options = stap_options_default();
    options.context = 4;  // hardly any cache: those are numbers without a rule
    const SessionPointer session = open(model.get(), options);
    for (uint64_t i = 0; i < 60; ++i) observe(session.get(), i);
    for (const char* app : {"app1", "app7"}) stap_session_notify(session.get(), app, 4, 29e6);
    CHECK(stap_session_forget(session.get(), "app2", 4) == STAP_OK);
    answer(session.get());
    const std::vector<uint8_t> state = snapshot(session.get());
    size_t refused = 0, tried = 0;
    for (size_t at = 8; at < state.size() - 8; at += at < 400 ? 1 : stride)
        for (uint8_t bits : {0x01, 0x80, 0xff}) {
            std::vector<uint8_t> forged = state;
            forged[at] ^= bits;
            const uint64_t hash = stap::hash_bytes(forged.data(), forged.size() - 8, stap::kSnapshotVersion);
            std::memcpy(forged.data() + forged.size() - 8, &hash, 8);
            stap_session* made = nullptr;
            const stap_status status =
                stap_session_restore(model.get(), STAP_KERNELS_BEST, forged.data(), forged.size(), &made);
            const SessionPointer owner(made);
            ++tried;
            refused += status == STAP_ERROR_STATE;
            CHECK(status == STAP_ERROR_STATE || status == STAP_OK);
            for (uint64_t i = 60; made && i < 64; ++i) {
                observe(made, i);
                stap_candidate best[4];
                size_t count = 0;
                const stap_status ranked = stap_session_rank(made, 4, best, &count);
                CHECK(ranked == STAP_OK || ranked == STAP_ERROR_NUMBER);
                stap_session_rank_at(made, 29e6, 3, 4, best, &count, nullptr);
            }
        }
    std::printf("%zu forged bytes, %zu refused\n", tried, refused);
    CHECK(refused > tried / 20 && refused < tried);  // the hash was right: what refused them were the checks behind it
}

}  // namespace

int main(int argc, char**) {
    const bool quick = argc > 1;  // any argument: for an emulator
    for (const tiny::Config& config : {tiny::config(), tiny::config_pure(), tiny::config_with_evidence()}) {
        goes_on_with_the_same_bits(config, quick ? 7 : config.evidence ? 3 : 1);
        damaged_ones_are_refused(config);
        forged_ones_are_refused_or_harmless(config, quick ? 97 : 5);
    }
    return failures != 0;
}

// Snapshot and restore at every step of every stage: the same bits afterwards. Damaged snapshots are refused.
#include <algorithm>
#include <cmath>

#include "border.h"
#include "driver.h"
#include "person/bounds.h"

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

// The hash at its end, made right again.
void repair(std::vector<uint8_t>& state) {
    const uint64_t hash = stap::hash_bytes(state.data(), state.size() - 8, stap::kSnapshotVersion);
    std::memcpy(state.data() + state.size() - 8, &hash, 8);
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
            repair(forged);
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

// A session with something wrong in it, or its bytes, and the words by which they are refused: every rule by itself.
class Rules {
   public:
    Rules(const tiny::Config& config, const stap_options& options, uint64_t events)
        : model_(load(tiny::model(config))) {
        const SessionPointer session = open(model_.get(), options);
        for (uint64_t i = 0; i < events; ++i) observe(session.get(), i);
        for (const char* app : {"app1", "app7"}) stap_session_notify(session.get(), app, 4, 29e6);
        answer(session.get());
        state_ = snapshot(session.get());
        CHECK_EQUAL(said(state_), "restored");
    }

    const std::vector<uint8_t>& state() const { return state_; }
    std::unique_ptr<stap::Session> session() const { return restored(state_); }

    template <typename Forge>
    void session(const char* words, Forge forge) const {
        const auto forged = session();
        forge(*forged);
        refused(words, stap::session_snapshot(*forged));
    }

    // The forge gets the state without its hash, and where a pattern of bytes ends in it for the last time.
    template <typename Forge>
    void bytes(const char* words, const std::string& pattern, Forge forge) const {
        std::vector<uint8_t> forged(state_.begin(), state_.end() - 8);
        const auto found = std::find_end(forged.begin(), forged.end(), pattern.begin(), pattern.end(),
                                         [](uint8_t a, char b) { return a == uint8_t(b); });
        CHECK(found != forged.end());
        forge(forged, size_t(found - forged.begin()) + pattern.size());
        forged.resize(forged.size() + 8);
        repair(forged);
        refused(words, forged);
    }

    void refused(const std::string& words, const std::vector<uint8_t>& forged) const {
        CHECK_EQUAL(said(forged), "snapshot: " + words);
    }

   private:
    std::unique_ptr<stap::Session> restored(const std::vector<uint8_t>& state) const {
        return stap::session_restore(model_->shared, state.data(), state.size());
    }
    std::string said(const std::vector<uint8_t>& state) const {
        try {
            restored(state);
        } catch (const stap::Failure& failure) {
            return failure.message;
        }
        return "restored";
    }

    ModelPointer model_;
    std::vector<uint8_t> state_;
};

template <typename... Values>
std::string bytes_of(const Values&... values) {
    std::string out;
    (out.append(reinterpret_cast<const char*>(&values), sizeof values), ...);
    return out;
}

template <typename Value>
auto put(Value value, size_t offset = 0) {
    return
        [=](std::vector<uint8_t>& state, size_t at) { std::memcpy(state.data() + at + offset, &value, sizeof value); };
}

void every_rule_of_the_frame_refuses_by_itself(const Rules& rules) {
    const std::string magic = "STAPSNAP";  // version, fingerprint, strategy, dtype, kernels, context, steps, ...
    std::vector<uint8_t> other(rules.state().begin(), rules.state().begin() + 15);
    rules.refused("not one of ours", other);
    other = rules.state();
    other[0] ^= 1;
    repair(other);
    rules.refused("not one of ours", other);
    other = rules.state();
    other[30] ^= 1;
    rules.refused("some of its bytes have changed", other);
    rules.bytes("of another version", magic, put(uint32_t(stap::kSnapshotVersion + 1)));
    rules.bytes("of another model", magic, put(uint64_t(1), 4));
    rules.bytes("an unknown strategy", magic, put(uint8_t(4), 12));
    rules.bytes("an unknown dtype", magic, put(uint8_t(3), 13));
    for (uint32_t context : {0u, 3u, stap::kMostContext + 2})
        rules.bytes("an impossible context", magic, put(context, 15));
    rules.session("too many events", [](auto& s) { s.steps = uint64_t(1) << 31; });
    rules.session("a ranking in the future", [](auto& s) { s.ranked = s.steps + 1; });
    rules.session("an answer in the future", [](auto& s) { s.answered = s.steps + 1; });
    rules.session("no answer to its last event", [](auto& s) { --s.answered; });
    rules.bytes("bytes after its end", magic, [](auto& state, size_t) { state.push_back(0); });
    rules.bytes("it ends too soon", magic, [](auto& state, size_t) { state.pop_back(); });
}

void every_rule_of_phi_and_events_refuses_by_itself(const Rules& rules) {
    const auto used = [](stap::Session& s) -> stap::Phi::Slot& { return s.phi.slots[s.phi.index.at("app3")]; };
    const auto none = [](stap::Session& s) { return uint16_t(s.phi.slots.size()); };
    rules.session("too many free indices", [&](auto& s) { s.phi.free.resize(none(s) + 1u); });
    rules.session("a free index that is none", [&](auto& s) { s.phi.free.back() = none(s); });
    rules.session("a free index that is none", [](auto& s) { s.phi.free.back() = s.phi.free.front(); });
    rules.session("too many apps", [&](auto& s) {
        for (uint16_t i = 0; i <= none(s); ++i) s.phi.index.emplace(std::to_string(i), i);
    });
    rules.session("an app's index that is none", [](auto& s) { s.phi.free.back() = s.phi.index.at("app3"); });
    const auto session = rules.session();
    const uint16_t held = session->phi.index.at("app3");
    rules.bytes("an app's index that is none", bytes_of(held, used(*session).last_use, uint32_t(4)) + "app3",
                [&](auto& state, size_t at) { put(none(*session))(state, at - 18); });
    rules.session("an app used in the future", [&](auto& s) { used(s).last_use = s.steps; });
    rules.session("an app without a name of its own", [&](auto& s) { used(s).app.clear(); });
    rules.session("an app without a name of its own", [&](auto& s) { used(s).app = "app1"; });
    rules.session("a text too long", [&](auto& s) { used(s).app.resize(STAP_MOST_APP_BYTES + 1, 'x'); });
    rules.session("no room for any app", [](auto& s) { s.phi = stap::Phi(uint32_t(s.phi.slots.size()), 0, 0); });

    rules.session("an action that is none", [](auto& s) { s.ring[1].action = 2; });
    rules.session("a time that is none", [](auto& s) { s.ring[1].minutes = 2 * STAP_MOST_MINUTES; });
    for (float hour : {-1.0f, 24.0f}) rules.session("a time that is none", [&](auto& s) { s.ring[1].hour = hour; });
    rules.session("a number that is none", [](auto& s) { s.ring[1].minutes = NAN; });
    rules.session("a number that is none", [](auto& s) { s.ring[1].hour = INFINITY; });
    rules.session("an event of no app", [&](auto& s) { s.ring[1].app = none(s); });
    rules.bytes("a flag that is none", bytes_of(session->ring[1].minutes, session->ring[1].hour), put(uint8_t(2), 3));

    rules.session("an app forgotten that was none", [](auto& s) { s.hidings = {{5, 0}, {4, 0}}; });
    rules.session("an app forgotten that was none", [](auto& s) { s.hidings = {{s.steps + 1, 0}}; });
    rules.session("an app forgotten that was none", [&](auto& s) { s.hidings = {{s.steps, none(s)}}; });
    rules.session("a list too long", [&](auto& s) { s.hidings.resize(s.schedule.context + none(s) + 1); });

    rules.session("a cache with events to come", [](auto& s) {
        stap::Cache& cache = s.caches[s.active()];
        cache.reserve(++cache.taken, s.pool);
    });
    rules.session("a cached event of no app", [&](auto& s) { s.caches[s.active()].blocks[0]->app[0] = none(s); });
    rules.session("a number that is none", [](auto& s) { s.caches[0].origin = -INFINITY; });
}

void every_rule_of_a_cache_s_stage_refuses_by_itself() {
    stap_options options = stap_options_default();
    Rules(tiny::config(), options, 3).session("a cache filled before its time", [](auto& s) {
        s.caches[1].reserve(1, s.pool);
        s.caches[1].taken = 1;
    });
    options.strategy = STAP_ROLLING;
    Rules(tiny::config(), options, 40).session("a cache too far behind", [](auto& s) { s.caches[0].clear(0, s.pool); });
}

void every_rule_of_evidence_refuses_by_itself(const Rules& rules) {
    const auto blend = [&](const char* words, auto forge) {
        rules.session(words, [&](auto& s) { forge(const_cast<stap::Blend&>(s.evidence->blend())); });
    };
    const auto launches = [&](auto forge) {
        rules.session("evidence that contradicts itself",
                      [&](auto& s) { forge(const_cast<stap::Launches&>(s.evidence->launches())); });
    };
    const auto contradicts = [&](auto forge) { blend("evidence that contradicts itself", forge); };
    blend("evidence of one app twice", [](auto& b) { b.apps[0].name = b.apps[1].name; });
    blend("evidence of no app", [](auto& b) { b.recency[0] = uint32_t(b.apps.size()); });
    blend("evidence of no app", [](auto& b) { b.recency[0] = b.recency[1]; });
    blend("evidence of no successor", [](auto& b) { b.sequence.young.begin()->second.list[0].app.place = 99; });
    blend("evidence of no successor", [](auto& b) { b.stays.young.begin()->second.list[0].app.place = 99; });
    blend("evidence of no successor", [](auto& b) { b.stays.old[1].list = {{{99, 1}, 1}}; });
    blend("a list too long", [](auto& b) { b.stays.old[1].list.resize(stap::kSuccessors + 1); });
    blend("a list too long", [](auto& b) {
        for (uint64_t key = 0; key <= stap::kGeneration; ++key) b.stays.old[key].list.clear();
    });
    contradicts([](auto& b) { b.apps[0].name.clear(); });
    contradicts([](auto& b) { b.apps[0].count = 0; });
    contradicts([](auto& b) { b.apps[0].serial = 0; });
    contradicts([](auto& b) { b.apps[0].serial = b.serials + 1; });
    contradicts([](auto& b) { b.apps[0].last_usage = b.usages; });
    contradicts([](auto& b) { b.apps[1].last_usage = 0; });  // before its first
    contradicts([](auto& b) { b.past_size = stap::kLongest + 1; });
    for (int32_t stay : {-2, 4}) contradicts([&](auto& b) { b.stay = stay; });
    for (double hour : {-1.0, 24.0}) contradicts([&](auto& b) { b.hour = hour; });
    launches([](auto& l) { l.apps[0].launch = l.launches + 1; });
    launches([](auto& l) { l.apps[0].waking = l.wakings + 1; });

    const auto session = rules.session();
    const stap::Blend& b = session->evidence->blend();
    rules.bytes("evidence that contradicts itself", bytes_of(b.hour, b.clock), put(-1.0));  // the gap
    rules.bytes("evidence that contradicts itself", bytes_of(uint32_t(4)) + "app3", put(uint64_t(1) << 40, 28));
    for (uint64_t cue : {stap::cue_key(stap::kSkipCue, {b.past[2].serial}), b.current_cue(stap::kRecentCue, 0)})
        rules.bytes("evidence of no successor", bytes_of(cue), put(uint32_t(99), 24));

    const auto count = [](uint64_t size) {
        return [=](std::vector<uint8_t>& state, size_t at) { put(size)(state, at - 16); };
    };
    rules.bytes("a list too long", bytes_of(uint64_t(b.apps.size()), uint32_t(4)) + b.apps[0].name,
                count(stap::kMostApps + 1));
    rules.bytes("a list too long", bytes_of(uint64_t(2), uint32_t(4)) + "app1", count(1000));  // no room for so many

    const auto notices = [&](const char* words, auto forge) {
        rules.session(words, [&](auto& s) { forge(s.word.notices); });
    };
    notices("a notification that is none", [](auto& n) { n.apps[0].name.clear(); });
    notices("a notification that is none", [](auto& n) { n.apps[0].name = n.apps[1].name; });
    notices("a notification that is none", [](auto& n) { n.apps[0].minutes = 2 * STAP_MOST_MINUTES; });
    notices("a notification that is none", [](auto& n) { n.apps[0].weight = 1.01 * stap::kMostOwnNotice; });
    notices("a weight out of bounds", [](auto& n) { n.weights[0] = -1.01 * stap::kMostNotice; });
    notices("a list too long", [](auto& n) { n.apps.resize(stap::kMostApps + 1); });
}

void every_rule_refuses_by_itself() {
    for (const tiny::Config& config : {tiny::config(), tiny::config_pure(), tiny::config_with_evidence()}) {
        const Rules rules(config, stap_options_default(), 60);
        every_rule_of_the_frame_refuses_by_itself(rules);
        every_rule_of_phi_and_events_refuses_by_itself(rules);
        if (config.evidence) every_rule_of_evidence_refuses_by_itself(rules);
    }
    every_rule_of_a_cache_s_stage_refuses_by_itself();
}

}  // namespace

int main(int argc, char**) {
    const bool quick = argc > 1;  // any argument: for an emulator
    for (const tiny::Config& config : {tiny::config(), tiny::config_pure(), tiny::config_with_evidence()}) {
        goes_on_with_the_same_bits(config, quick ? 7 : config.evidence ? 3 : 1);
        damaged_ones_are_refused(config);
        forged_ones_are_refused_or_harmless(config, quick ? 97 : 5);
    }
    every_rule_refuses_by_itself();
    return failures != 0;
}

// One person: phi, the latest events, the caches and the schedule between them.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "person/evidence.h"
#include "person/filter.h"
#include "person/fusion.h"
#include "person/phi.h"
#include "person/schedule.h"
#include "transformer/cache.h"
#include "transformer/forward.h"

namespace stap {

struct Session {
    std::shared_ptr<const Model> model;
    const Kernels* kernels;
    Schedule schedule;
    Phi phi;
    Pool pool;
    Cache caches[2];  // the second is ISWI's
    RunState state;
    std::unique_ptr<Evidence> evidence;  // of a model that has it
    std::unique_ptr<FusionState> fusion;
    std::unique_ptr<FusionState> launch;  // of a model with a launch head
    std::vector<Event> ring;              // the last L events: that of a step is at step % L
    uint64_t steps = 0;                   // events observed
    uint64_t ranked = 0;                  // steps at the last ranking
    uint64_t answered = 0;                // steps that state.logits answers for
    uint64_t fused = 0;                   // steps that `fusion` answers for
    Outlook outlook;                      // of the last question that named a moment
    LastWord word;                        // of a model with evidence

    struct Hiding {
        uint64_t step;  // from this event on nothing attends to those before it of
        uint16_t app;   // an index whose app was forgotten
    };
    std::vector<Hiding> hidings;  // in the order of steps, as far back as the ring
    bool orphaned = false;        // the app in front was forgotten: its close will be nobody's

    Session(std::shared_ptr<const Model> model, const Kernels& kernels, Schedule schedule, stap_dtype cache, Phi phi);

    void observe(std::string_view app, int action, double minutes, double hour);
    void notify(std::string_view app, double minutes);
    void forget(std::string_view app);  // fails with STAP_ERROR_APP where it is unknown
    const float* logits();              // (V) after the last event
    size_t rank(size_t k, stap_candidate* best, const Filter& filter);
    double unseen();  // the probability that a first-ever app comes next
    // Asking changes nothing. unseen: as above, of what is asked.
    size_t rank_at(const Asked& asked, size_t k, stap_candidate* best, double& unseen, const Filter& filter);
    void catch_up(size_t most);

    uint32_t active() const { return schedule.active(steps - 1); }
    bool receives(uint32_t cache) const { return steps > 0 && schedule.first(cache, steps - 1) != kNotYet; }
    uint32_t pending(uint32_t cache) const;  // events it has not taken yet

   private:
    bool is_front(uint16_t index) const;
    bool hides_at(uint64_t step) const;
    size_t copy_ranking(const FusionState& head, size_t k, stap_candidate* best, const Filter& filter) const;
    FusionState& fuse_at(const Asked& asked);
    void answer_again();
    void learn_launch(std::string_view app, double minutes, double hour);
    size_t rank_logits(size_t k, stap_candidate* best, const Filter& filter);
    void fuse();
    void begin_stages();
    void keep_pace();
    uint32_t take(uint32_t cache, uint32_t most);
};

constexpr uint32_t kSnapshotVersion = 6;  // also the seed of the hash at a snapshot's end
std::vector<uint8_t> session_snapshot(const Session& session);
std::unique_ptr<Session> session_restore(std::shared_ptr<const Model> model, const uint8_t* data, size_t size);

}  // namespace stap

// ISWI and its rivals: who predicts from what, that batching changes nothing, and what a caller may get wrong.
#include <algorithm>
#include <cmath>

#include "driver.h"
#include "person/schedule.h"

namespace {

// The schedule as the paper tells it, step by step.
void schedule_is_the_papers() {
    for (uint32_t half : {1u, 2u, 5u}) {
        const stap::Schedule schedule{STAP_ISWI, 2 * half};
        uint64_t count[2] = {0, 0};
        for (uint64_t step = 0; step < 12 * half; ++step) {
            const uint64_t stage = step / half;
            const uint32_t active = stage == 0 || stage % 2 == 1 ? 0 : 1;
            ++count[0];
            if (stage > 0) ++count[1];
            CHECK(schedule.active(step) == active);
            CHECK(step - schedule.first(0, step) + 1 == count[0]);
            CHECK(stage == 0 ? schedule.first(1, step) == stap::kNotYet
                             : step - schedule.first(1, step) + 1 == count[1]);
            if (stage > 0) CHECK(count[active] > half && count[active] <= 2 * half && count[0] + count[1] <= 3 * half);
            if (stage > 0 && (step + 1) % half == 0) count[active] = 0;
        }
    }
}

void contexts_are_as_promised() {
    const ModelPointer model = load(tiny::model());
    for (stap_strategy strategy : kStrategies) {
        stap_options options = stap_options_default();
        options.strategy = strategy;
        const SessionPointer session = open(model.get(), options);
        for (uint32_t i = 0; i < 100; ++i) {
            observe(session.get(), i);
            logits(session.get());
            stap_session_info info;
            CHECK(stap_session_get_info(session.get(), &info) == STAP_OK);
            uint32_t wanted = i + 1;
            if (strategy == STAP_ISWI && i >= 8) wanted = 8 + i % 8 + 1;
            if (strategy == STAP_RESET) wanted = i % 16 + 1;
            if (strategy == STAP_REPREFILL && i >= 16) wanted = 8 + i % 8 + 1;
            if (strategy == STAP_ROLLING) wanted = std::min(i + 1, 16u);
            CHECK(info.context == wanted && info.events == i + 1);
        }
    }
}

// A prediction depends on the events alone: not on who asked when, and not on what was computed together.
void batching_changes_no_bit() {
    const ModelPointer model = load(tiny::model());
    for (stap_strategy strategy : kStrategies)
        for (stap_dtype cache : {STAP_F32, STAP_F16, STAP_I8})
            for (uint32_t indices : {0u, 5u}) {  // enough; fewer than apps, so that they are recycled all the time
                stap_options options = stap_options_default();
                options.strategy = strategy;
                options.cache = cache;
                options.context = 64;
                options.app_limit = indices;
                const SessionPointer every = open(model.get(), options), eager = open(model.get(), options),
                                     lazy = open(model.get(), options);
                for (uint64_t i = 0; i < 260; ++i) {
                    for (const auto& session : {every.get(), eager.get(), lazy.get()}) observe(session, i);
                    const std::vector<float> wanted = logits(every.get());
                    stap_session_catch_up(eager.get(), i % 7, nullptr);
                    if (i % 5 == 0) CHECK(same_bits(logits(eager.get()), wanted));
                    if (i % 97 == 0) CHECK(same_bits(logits(lazy.get()), wanted));
                }
            }
}

// ISWI's second cache has gathered what re-prefill computes anew, also where indices were recycled in between.
void iswi_predicts_as_reprefill() {
    const ModelPointer model = load(tiny::model());
    for (uint32_t indices : {0u, 5u}) {
        stap_options options = stap_options_default();
        options.context = 64;
        options.app_limit = indices;
        const SessionPointer iswi = open(model.get(), options);
        options.strategy = STAP_REPREFILL;
        const SessionPointer prefilled = open(model.get(), options);
        for (uint64_t i = 0; i < 260; ++i) {
            observe(iswi.get(), i);
            observe(prefilled.get(), i);
            CHECK(same_bits(logits(iswi.get()), logits(prefilled.get())));
        }
    }
}

void passive_cache_is_ready_without_help() {
    const ModelPointer model = load(tiny::model());
    stap_options options = stap_options_default();
    options.context = 256;
    const SessionPointer session = open(model.get(), options);
    uint32_t most = 0;
    for (uint64_t i = 0; i < 1024; ++i) {
        observe(session.get(), i);
        stap_session_info info;
        stap_session_get_info(session.get(), &info);
        if (i >= 128 && i % 128 == 0) CHECK(info.pending <= 2);  // the new event, for both
        logits(session.get());
        stap_session_get_info(session.get(), &info);
        most = std::max(most, info.pending);
    }
    CHECK(most > 64 && most < 128);
    size_t left = 1;
    CHECK(stap_session_catch_up(session.get(), 1000, &left) == STAP_OK && left == 0);
}

// Only differences of time count: the same history twenty thousand years later gives the same angles.
void time_is_exact_for_years() {
    tiny::Config config = tiny::config();
    const ModelPointer model = load(tiny::model(config));
    stap_options options = stap_options_default();
    options.cache = STAP_F32;
    const SessionPointer early = open(model.get(), options), late = open(model.get(), options);
    const double shift = 7305.0 * 1440 * 1024;  // whole days, and exact in binary
    for (int i = 0; i < 300; ++i) {
        const double minutes = i * 1440.0 * 13.25;
        for (const auto& [session, origin] : {std::make_pair(early.get(), 0.0), std::make_pair(late.get(), shift)})
            stap_session_observe(session, i % 3 ? "a" : "b", 1, i % 2, origin + minutes, stap_hour_of_day(minutes));
        CHECK(same_bits(logits(early.get()), logits(late.get())));
    }
}

void wrong_calls_are_refused() {
    const ModelPointer model = load(tiny::model());
    stap_session* none = nullptr;
    auto refused = [&](auto change) {
        stap_options options = stap_options_default();
        change(options);
        return stap_session_new(model.get(), &options, &none);
    };
    CHECK(refused([](auto& o) { o.context = 7; }) == STAP_ERROR_ARGUMENT);
    CHECK(refused([](auto& o) { o.context = 1u << 21; }) == STAP_ERROR_ARGUMENT);
    CHECK(refused([](auto& o) { o.app_limit = 13; }) == STAP_ERROR_ARGUMENT);
    CHECK(refused([](auto& o) { o.cache = STAP_AS_STORED; }) == STAP_ERROR_ARGUMENT);
    CHECK(refused([](auto& o) { o.strategy = 4; }) == STAP_ERROR_ARGUMENT);
    CHECK(refused([](auto& o) { o.kernels = 17; }) == STAP_ERROR_KERNEL);
    CHECK(stap_session_new(nullptr, nullptr, &none) == STAP_ERROR_ARGUMENT && none == nullptr);
    const SessionPointer session = open(model.get(), stap_options_default());
    auto event = [&](const char* app, size_t length, int action, double minutes, double hour) {
        return stap_session_observe(session.get(), app, length, action, minutes, hour);
    };
    const std::string lengthy(STAP_MOST_APP_BYTES + 1, 'x');
    CHECK(event("", 0, 1, 0, 0) == STAP_ERROR_APP);
    CHECK(event(lengthy.data(), lengthy.size(), 1, 0, 0) == STAP_ERROR_APP);
    CHECK(event("a", 1, 2, 0, 0) == STAP_ERROR_ACTION);
    CHECK(event("a", 1, 1, NAN, 0) == STAP_ERROR_TIME);
    CHECK(event("a", 1, 1, -INFINITY, 0) == STAP_ERROR_TIME);
    CHECK(event("a", 1, 1, 1e300, 0) == STAP_ERROR_TIME);
    CHECK(event("a", 1, 1, 0, 24) == STAP_ERROR_TIME);
    CHECK(event("a", 1, 1, 0, -1e-9) == STAP_ERROR_TIME);
    CHECK(event(nullptr, 1, 1, 0, 0) == STAP_ERROR_ARGUMENT);
    stap_session_info info;
    CHECK(stap_session_get_info(session.get(), &info) == STAP_OK && info.events == 0 && info.cache_bytes == 0);
    CHECK(event("a", 1, 1, 0, std::nextafter(24.0, 0.0)) == STAP_OK);  // rounds to 24 as a float
    CHECK(event("a", 1, 0, -1e12, 0) == STAP_OK);                      // time may run backwards
    for (float value : logits(session.get())) CHECK(std::isfinite(value));
    float few[3];
    CHECK(stap_session_logits(session.get(), few, 3) == STAP_ERROR_ROOM);
    CHECK(stap_hour_of_day(-30) == 23.5 && stap_hour_of_day(1440.0 * 5 + 90) == 1.5 && stap_hour_of_day(-1e-20) < 24);
}

// `size` says which fields a caller knows: see stap.h.
void options_of_other_versions() {
    const ModelPointer model = load(tiny::model());
    struct Later {
        stap_options known;
        uint64_t more;
    } later = {stap_options_default(), 0};
    const auto status = [&] {
        stap_session* made = nullptr;
        const stap_status found = stap_session_new(model.get(), &later.known, &made);
        CHECK((found == STAP_OK) == (made != nullptr));
        stap_session_free(made);
        return found;
    };
    CHECK(status() == STAP_OK);
    for (size_t size : {size_t(0), sizeof(stap_options) - 1, size_t(5000), SIZE_MAX}) {
        later.known.size = size;
        CHECK(status() == STAP_ERROR_ARGUMENT);
    }
    later.known.size = sizeof later;
    CHECK(status() == STAP_OK);  // it sets nothing that is not known here
    later.more = 1;
    CHECK(status() == STAP_ERROR_ARGUMENT);
    later.known.size = sizeof later.known;  // what stands behind is no part of it
    CHECK(status() == STAP_OK);
}

void model_may_go_first() {
    ModelPointer model = load(tiny::model());
    const SessionPointer session = open(model.get(), stap_options_default());
    model.reset();
    observe(session.get(), 0);
    logits(session.get());
}

}  // namespace

int main() {
    schedule_is_the_papers();
    contexts_are_as_promised();
    batching_changes_no_bit();
    iswi_predicts_as_reprefill();
    passive_cache_is_ready_without_help();
    time_is_exact_for_years();
    wrong_calls_are_refused();
    options_of_other_versions();
    model_may_go_first();
    return failures != 0;
}

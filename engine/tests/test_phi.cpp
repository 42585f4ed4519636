// phi grows, recycles the app unused for longest, and lets nothing of it speak for the new one.
#include <algorithm>

#include "driver.h"
#include "person/phi.h"

namespace {

bool holds(const stap_session* session, const std::string& app) {
    uint32_t index = 0;
    return stap_session_index(session, app.data(), app.size(), &index) == STAP_OK;
}

void see(stap_session* session, const std::string& app, double minutes) {
    CHECK(stap_session_observe(session, app.data(), app.size(), 1, minutes, 12) == STAP_OK);
}

void oldest_app_is_recycled() {
    const ModelPointer model = load(tiny::model());
    stap_options options = stap_options_default();
    options.app_limit = 3;
    const SessionPointer session = open(model.get(), options);
    double minutes = 0;
    for (const char* app : {"a", "b", "c", "a"}) see(session.get(), app, ++minutes);
    uint32_t before = 99, after = 99;
    stap_session_index(session.get(), "b", 1, &before);
    see(session.get(), "d", ++minutes);
    stap_session_index(session.get(), "d", 1, &after);
    CHECK(before == after && !holds(session.get(), "b") && holds(session.get(), "a") && holds(session.get(), "c"));
    see(session.get(), "b", ++minutes);  // c was the oldest
    CHECK(!holds(session.get(), "c"));
    stap_session_info info;
    stap_session_get_info(session.get(), &info);
    CHECK(info.apps == 3 && info.forgotten == 2);
}

void order_is_drawn_from_the_seed() {
    const stap::Phi first(200, 200, 1), second(200, 200, 2), limited(200, 3, 1);
    CHECK(first.free != second.free);
    CHECK(stap::Phi(200, 200, 1).free == first.free);
    std::vector<uint16_t> sorted = first.free;
    std::sort(sorted.begin(), sorted.end());
    for (uint16_t i = 0; i < 200; ++i) CHECK(sorted[i] == i);
    CHECK(limited.free == std::vector<uint16_t>(first.free.end() - 3, first.free.end()));
    const ModelPointer model = load(tiny::model());
    stap_options options = stap_options_default();
    options.seed = 5;
    const SessionPointer session = open(model.get(), options);
    const std::vector<uint16_t> wanted = stap::Phi(12, 12, 5).free;  // the last is taken first
    for (uint32_t i = 0; i < 12; ++i) {
        const std::string app = "app" + std::to_string(i);
        see(session.get(), app, i);
        uint32_t index = 99;
        stap_session_index(session.get(), app.data(), app.size(), &index);
        CHECK(index == wanted[11 - i]);
    }
}

// After its index was given away, what an app did may no longer matter: two histories that differ only in how the lost
// app's events looked give the same prediction, as far as keys and values of that app go.
void forgotten_events_are_hidden() {
    tiny::Config config = tiny::config();
    config.layers = 1;  // one layer: other events' keys and values do not carry the lost app either
    const ModelPointer model = load(tiny::model(config));
    stap_options options = stap_options_default();
    options.app_limit = 2;
    options.cache = STAP_F32;
    const SessionPointer one = open(model.get(), options), two = open(model.get(), options);
    for (const auto& [session, action] : {std::make_pair(one.get(), 0), std::make_pair(two.get(), 1)}) {
        stap_session_observe(session, "lost", 4, 1, 0, 12);
        stap_session_observe(session, "lost", 4, action, 3, action ? 12 : 20);
        logits(session);
        see(session, "kept", 9);
        logits(session);
    }
    CHECK(!same_bits(logits(one.get()), logits(two.get())));
    see(one.get(), "new", 12);
    see(two.get(), "new", 12);
    CHECK(same_bits(logits(one.get()), logits(two.get())));
}

void many_apps_cost_no_memory(int count) {
    const ModelPointer model = load(tiny::model());
    const SessionPointer session = open(model.get(), stap_options_default());
    for (int i = 0; i < count; ++i) see(session.get(), "app number " + std::to_string(i), i);
    logits(session.get());
    stap_session_info info;
    stap_session_get_info(session.get(), &info);
    CHECK(info.apps == 12 && info.forgotten == uint64_t(count) - 12 && info.cache_bytes + info.other_bytes < 1000000);
    CHECK(snapshot(session.get()).size() < 100000);
}

}  // namespace

int main(int argc, char**) {
    oldest_app_is_recycled();
    order_is_drawn_from_the_seed();
    forgotten_events_are_hidden();
    many_apps_cost_no_memory(argc > 1 ? 20000 : 1000000);  // any argument: quicker, for an emulator
    return failures != 0;
}

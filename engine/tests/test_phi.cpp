// phi grows, recycles the app unused for longest, and lets nothing of it speak for the new one.
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

void order_is_the_callers() {
    const ModelPointer model = load(tiny::model());
    const uint16_t order[12] = {5, 4, 3, 2, 1, 0, 11, 10, 9, 8, 7, 6};
    stap_options options = stap_options_default();
    options.order = order;
    const SessionPointer session = open(model.get(), options);
    see(session.get(), "a", 0), see(session.get(), "b", 1);
    uint32_t a = 99, b = 99;
    stap_session_index(session.get(), "a", 1, &a), stap_session_index(session.get(), "b", 1, &b);
    CHECK(a == 6 && b == 7);
    stap::Phi one(200, 200, 1, {}), two(200, 200, 2, {});
    CHECK(one.free != two.free);
    std::vector<bool> seen(200);
    for (uint16_t index : one.free) seen[index] = true;
    for (bool found : seen) CHECK(found);
}

// After its index was given away, what an app did may no longer matter: two histories that differ only in how the lost
// app's events looked give the same prediction, as far as keys and values of that app go.
void forgotten_events_are_hidden() {
    tiny::Config config = tiny::config();
    config.layers = 1;  // one layer: other events' keys and values do not carry the lost app either
    const ModelPointer model = load(tiny::model(config));
    stap_options options = stap_options_default();
    options.app_limit = 2, options.cache = STAP_F32;
    const SessionPointer one = open(model.get(), options), two = open(model.get(), options);
    for (const auto& [session, action] : {std::make_pair(one.get(), 0), std::make_pair(two.get(), 1)}) {
        stap_session_observe(session, "lost", 4, 1, 0, 12);
        stap_session_observe(session, "lost", 4, action, 3, action ? 12 : 20);
        logits(session);
        see(session, "kept", 9);
        logits(session);
    }
    CHECK(!same_bits(logits(one.get()), logits(two.get())));
    see(one.get(), "new", 12), see(two.get(), "new", 12);
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
    order_is_the_callers();
    forgotten_events_are_hidden();
    many_apps_cost_no_memory(argc > 1 ? 20000 : 1000000);  // any argument: quicker, for an emulator
    return failures != 0;
}

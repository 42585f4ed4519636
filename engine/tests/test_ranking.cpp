// What is answered: shares of a whole, of apps that were seen and neither forgotten nor left out.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "driver.h"

namespace {

void ranking_is_a_distribution() {
    const ModelPointer model = load(tiny::model());
    const stap_options options = stap_options_default();
    const SessionPointer session = open(model.get(), options);
    stap_candidate best[20];
    size_t count = 9;
    CHECK(stap_session_rank(session.get(), 5, best, &count) == STAP_ERROR_EMPTY && count == 9);
    for (uint64_t i = 0; i < 50; ++i) observe(session.get(), i);
    CHECK(stap_session_rank(session.get(), 20, best, &count) == STAP_OK && count == 9);
    double sum = 0;
    for (size_t i = 0; i < count; ++i) {
        sum += double(best[i].probability);
        CHECK(i == 0 || best[i].probability <= best[i - 1].probability);
        uint32_t index = 99;
        CHECK(stap_session_index(session.get(), best[i].app, best[i].length, &index) == STAP_OK &&
              index == best[i].index);
    }
    CHECK(std::fabs(sum - 1) < 1e-6);
    CHECK(stap_session_rank(session.get(), 2, best, &count) == STAP_OK && count == 2);
    CHECK(stap_session_rank(session.get(), 0, nullptr, &count) == STAP_OK && count == 0);
    CHECK(answer(session.get()).probability.back() == 0);  // without evidence nothing is kept for an unseen app
}

// With evidence every app seen is ranked, whether it holds an index or not, but never the one that was opened last.
void evidence_ranks_every_app() {
    const ModelPointer model = load(tiny::model(tiny::config_with_evidence()));
    const SessionPointer session = open(model.get(), stap_options_default());
    float unseen = 9;
    CHECK(stap_session_unseen(session.get(), &unseen) == STAP_ERROR_EMPTY && unseen == 9);
    CHECK(stap_session_unseen(session.get(), nullptr) == STAP_ERROR_ARGUMENT &&
          stap_session_unseen(nullptr, &unseen) == STAP_ERROR_ARGUMENT);
    std::set<std::string> seen;
    for (uint64_t i = 0; i < 300; ++i) {
        observe(session.get(), i, 40);  // more than the 12 indices
        const std::string current = app_of(i, 40);
        seen.insert(current);
        const Answer found = answer(session.get());
        double sum = 0;
        for (float share : found.probability) sum += double(share);
        CHECK(std::fabs(sum - 1) < 1e-5);
        std::set<std::string> wanted = seen;
        wanted.erase(current);
        CHECK(std::set<std::string>(found.apps.begin(), found.apps.end()) == wanted &&
              found.apps.size() == wanted.size());
        CHECK(std::is_sorted(found.probability.rbegin() + 1, found.probability.rend()));
        for (size_t k = 0; k < found.apps.size(); ++k) {
            uint32_t index = STAP_NO_INDEX;
            stap_session_index(session.get(), found.apps[k].data(), found.apps[k].size(), &index);
            CHECK(index == found.index[k]);
        }
    }
    const Answer last = answer(session.get());
    CHECK(std::count(last.index.begin(), last.index.end(), STAP_NO_INDEX) == std::ptrdiff_t(seen.size()) - 12);
}

// An answer depends on the events alone, and a thousand apps are the most that are remembered.
void evidence_is_of_the_events_alone() {
    const ModelPointer model = load(tiny::model(tiny::config_with_evidence(), "I8"));
    for (stap_strategy strategy : kStrategies) {
        stap_options options = stap_options_default();
        options.strategy = strategy;
        const SessionPointer every = open(model.get(), options), eager = open(model.get(), options),
                             lazy = open(model.get(), options);
        for (uint64_t i = 0; i < 120; ++i) {
            for (const auto& session : {every.get(), eager.get(), lazy.get()})
                observe(session, i, 20);  // apps for 12 indices
            const Answer wanted = answer(every.get());
            stap_session_catch_up(eager.get(), i % 7, nullptr);
            if (i % 5 == 0) CHECK(same_bits(answer(eager.get()), wanted));
            if (i % 37 == 0) CHECK(same_bits(answer(lazy.get()), wanted));
        }
    }
    const SessionPointer crowded = open(model.get(), stap_options_default());
    for (uint64_t i = 0; i < 1100; ++i) {
        const std::string app = "app" + std::to_string(i);
        CHECK(stap_session_observe(crowded.get(), app.data(), app.size(), STAP_OPEN, double(i), 12) == STAP_OK);
    }
    std::vector<stap_candidate> best(2000);
    size_t count = 0;
    CHECK(stap_session_rank(crowded.get(), best.size(), best.data(), &count) == STAP_OK && count == 1023);
}

stap_status notify(stap_session* session, const std::string& app, double minutes) {
    return stap_session_notify(session, app.data(), app.size(), minutes);
}

stap_status forget(stap_session* session, const std::string& app) {
    return stap_session_forget(session, app.data(), app.size());
}

// Shares by name, of a launch at a time; what is left for the unseen has no name.
std::map<std::string, float> shares_at(stap_session* session, double minutes) {
    stap_candidate best[64];
    size_t count = 0;
    float unseen = -1;
    CHECK(stap_session_rank_at(session, minutes, 12, 64, best, &count, &unseen) == STAP_OK);
    std::map<std::string, float> shares = {{"", unseen}};
    for (size_t i = 0; i < count; ++i) shares[std::string(best[i].app, best[i].length)] = best[i].probability;
    double sum = 0;
    for (const auto& entry : shares) sum += double(entry.second);
    CHECK(std::fabs(sum - 1) < 1e-5);
    return shares;
}

// A notification lifts its app, a day long and until it is opened; where none can count, not a bit changes.
void notifications_count_until_the_app_is_opened() {
    const ModelPointer model = load(tiny::model(tiny::config_with_evidence()));
    const SessionPointer plain = open(model.get(), stap_options_default()),
                         told = open(model.get(), stap_options_default());
    for (uint64_t i = 0; i < 40; ++i)
        for (const auto& session : {plain.get(), told.get()}) observe(session, i);
    const double now = 29e6 + 3.7 * 40;
    CHECK(notify(told.get(), "never opened", now) == STAP_OK &&
          notify(told.get(), app_of(0, 9), now - 1440) == STAP_OK);
    CHECK(shares_at(told.get(), now) == shares_at(plain.get(), now));
    const std::string app = app_of(20, 9);
    CHECK(notify(told.get(), app, now - 1) == STAP_OK);
    CHECK(shares_at(told.get(), now)[app] > 1.5f * shares_at(plain.get(), now)[app]);
    CHECK(shares_at(told.get(), STAP_WHENEVER)[app] > shares_at(plain.get(), STAP_WHENEVER)[app]);
    CHECK(same_bits(answer(told.get()), answer(plain.get())));  // of the next other app it says nothing
    CHECK(shares_at(told.get(), now + 1440)[app] == shares_at(plain.get(), now + 1440)[app]);
    CHECK(notify(told.get(), app, NAN) == STAP_ERROR_TIME && notify(told.get(), app, 1e13) == STAP_ERROR_TIME);
    CHECK(notify(told.get(), "", 0) == STAP_ERROR_APP && notify(nullptr, "a", 0) == STAP_ERROR_ARGUMENT);
}

// Forgotten in the midst of life, current or not, with an index or without: never ranked, and all sums hold.
void forgotten_apps_are_gone() {
    const ModelPointer model = load(tiny::model(tiny::config_with_evidence()));
    for (stap_strategy strategy : kStrategies) {
        stap_options options = stap_options_default();
        options.strategy = strategy;
        const SessionPointer session = open(model.get(), options);
        CHECK(forget(session.get(), "app1") == STAP_ERROR_APP);
        std::set<std::string> seen;
        for (uint64_t i = 0; i < 300; ++i) {
            observe(session.get(), i, 40);
            if (i % 2 == 0) seen.insert(app_of(i, 40));
            if (i % 6 == 5) {
                const std::string gone = i % 12 == 5 ? app_of(i, 40) : *seen.begin();
                CHECK(forget(session.get(), gone) == STAP_OK && forget(session.get(), gone) == STAP_ERROR_APP);
                seen.erase(gone);
            }
            const std::map<std::string, float> shares = shares_at(session.get(), 29e6 + 4.0 * double(i));
            for (const auto& entry : shares) CHECK(entry.first.empty() || seen.count(entry.first) == 1);
            CHECK(shares.size() == seen.size() + 1);
        }
        while (!seen.empty()) {
            CHECK(forget(session.get(), *seen.begin()) == STAP_OK);
            seen.erase(seen.begin());
        }
        CHECK(shares_at(session.get(), 29e6).at("") == 1 && answer(session.get()).apps.empty());
        stap_session_info info;
        CHECK(stap_session_get_info(session.get(), &info) == STAP_OK && info.apps == 0);
        observe(session.get(), 300);
        CHECK(shares_at(session.get(), 29e6).size() == 2);
    }
}

// Some of the whole, in its order and with its shares; thousands of strangers' names do no harm.
void filters_choose_and_change_no_share() {
    for (const tiny::Config& config : {tiny::config(), tiny::config_with_evidence()}) {
        const ModelPointer model = load(tiny::model(config));
        const SessionPointer session = open(model.get(), stap_options_default());
        stap_candidate best[64], some[64];
        size_t count = 9, few = 9;
        float unseen = 9, left = 9;
        CHECK(stap_session_rank_among(session.get(), 0, 0, nullptr, 5, some, &few, nullptr) == STAP_ERROR_EMPTY);
        for (uint64_t i = 0; i < 60; ++i) observe(session.get(), i);
        std::vector<std::string> texts = {"app1", "app3", "app5"};
        for (int i = 0; i < 5000; ++i) texts.push_back("stranger" + std::to_string(i));
        std::vector<stap_name> names;
        for (const std::string& text : texts) names.push_back({text.data(), text.size()});
        const stap_name hidden = {"app3, not terminated", 4};
        for (double minutes : {29e6 + 300, STAP_WHENEVER, STAP_OTHER}) {
            const stap_filter filter = {names.data(), names.size(), &hidden, 1};
            CHECK(stap_session_rank_among(session.get(), minutes, 3, nullptr, 64, best, &count, &unseen) == STAP_OK);
            CHECK(stap_session_rank_among(session.get(), minutes, 3, &filter, 64, some, &few, &left) == STAP_OK);
            CHECK(left == unseen && count > 6);
            size_t at = 0;
            for (size_t i = 0; i < count; ++i) {
                const std::string app(best[i].app, best[i].length);
                if (app != "app1" && app != "app5") continue;
                CHECK(at < few && some[at].app == best[i].app && some[at].index == best[i].index &&
                      std::fabs(some[at].probability - best[i].probability) < 1e-7f);
                ++at;
            }
            CHECK(at == few);
            CHECK(stap_session_rank_among(session.get(), minutes, 3, &filter, 1, some, &few, &left) == STAP_OK &&
                  few <= 1);
            const stap_filter nobody = {names.data(), 0, nullptr, 0};
            CHECK(stap_session_rank_among(session.get(), minutes, 3, &nobody, 9, some, &few, nullptr) == STAP_OK &&
                  few == 0);
        }
        const stap_filter torn = {nullptr, 3, nullptr, 0}, blank = {nullptr, 0, names.data(), 1};
        names[0].app = nullptr;
        for (const stap_filter* bad : {&torn, &blank})
            CHECK(stap_session_rank_among(session.get(), 0, 0, bad, 9, some, &few, nullptr) == STAP_ERROR_ARGUMENT);
        CHECK(stap_session_rank_at(session.get(), STAP_OTHER, 0, 9, best, &count, nullptr) == STAP_ERROR_TIME);
    }
}

}  // namespace

int main() {
    ranking_is_a_distribution();
    evidence_ranks_every_app();
    evidence_is_of_the_events_alone();
    notifications_count_until_the_app_is_opened();
    forgotten_apps_are_gone();
    filters_choose_and_change_no_share();
    return failures != 0;
}

// Reasons for an app's place, and a row that stands still: what a caller of the C header gets, and may get wrong.
#include <cmath>
#include <limits>

#include "driver.h"
#include "person/why.h"

namespace {

stap::Config with_launches() {
    stap::Config config = tiny::config_with_evidence();
    config.launches = 10;
    return config;
}

void fading_counts_are_told_in_whole_numbers() {
    uint32_t times = 9, of = 9;
    stap::told(0, 0, 0.98, times, of);
    CHECK(times == 0 && of == 0);
    double count = 0, total = 0;
    for (int i = 0; i < 9; ++i) {  // seven of nine, the first two not
        count = count * 0.98 + (i >= 2);
        total = total * 0.98 + 1;
    }
    stap::told(count, total, 0.98, times, of);
    CHECK(times == 7 && of == 9);
    stap::told(50, 50, 0.98, times, of);  // what countless times come to
    CHECK(times == stap::kMostTold && of == stap::kMostTold);
}

void reasons_are_sorted_and_change_nothing() {
    for (const stap::Config& config : {tiny::config_with_evidence(), with_launches()}) {
        const ModelPointer model = load(tiny::model(config));
        const SessionPointer session = open(model.get(), stap_options_default());
        for (uint64_t i = 0; i < 120; ++i) observe(session.get(), i);
        const Answer before = answer(session.get());
        const std::vector<uint8_t> state = snapshot(session.get());
        size_t all = 0;
        for (double minutes : {STAP_WHENEVER, STAP_OTHER, 29e6 + 450, 29e6 + 500})
            for (uint64_t a = 0; a < 9; ++a) {
                const std::string app = "app" + std::to_string(a);
                stap_reason reasons[STAP_REASON_KINDS], first[1];
                size_t count = 0, one = 0;
                const double hour = stap_hour_of_day(29e6);
                CHECK(stap_session_why(session.get(), app.data(), app.size(), minutes, hour, STAP_REASON_KINDS, reasons,
                                       &count) == STAP_OK);
                CHECK(stap_session_why(session.get(), app.data(), app.size(), minutes, hour, 1, first, &one) ==
                      STAP_OK);
                CHECK(one == std::min<size_t>(count, 1));
                if (one) CHECK(first[0].kind == reasons[0].kind && first[0].strength == reasons[0].strength);
                for (size_t i = 0; i < count; ++i) {
                    const stap_reason& reason = reasons[i];
                    CHECK(reason.strength >= float(stap::kLeastStrength));
                    CHECK(i == 0 || reasons[i - 1].strength >= reason.strength);
                    CHECK((reason.kind == STAP_REASON_BEFORE) == (reason.app != nullptr));
                    CHECK((reason.kind == STAP_REASON_HOUR) == (reason.hour >= 0));
                    CHECK(reason.kind == STAP_REASON_RECENT || reason.count <= reason.of ||
                          reason.kind == STAP_REASON_LATELY);
                }
                all += count;
            }
        CHECK(all > 0);
        CHECK(snapshot(session.get()) == state);
        CHECK(same_bits(answer(session.get()), before));
    }
}

void wrong_questions_are_refused() {
    const ModelPointer model = load(tiny::model(with_launches()));
    const SessionPointer session = open(model.get(), stap_options_default());
    stap_reason reasons[3];
    size_t count = 77;
    stap_session* s = session.get();
    CHECK(stap_session_why(s, "app1", 4, STAP_WHENEVER, 0, 3, reasons, &count) == STAP_ERROR_APP);
    for (uint64_t i = 0; i < 30; ++i) observe(s, i);
    CHECK(stap_session_why(s, "zebra", 5, STAP_WHENEVER, 0, 3, reasons, &count) == STAP_ERROR_APP);
    CHECK(stap_session_why(s, "app1", 4, std::numeric_limits<double>::quiet_NaN(), 0, 3, reasons, &count) ==
          STAP_ERROR_TIME);
    CHECK(stap_session_why(s, "app1", 4, 5, 24, 3, reasons, &count) == STAP_ERROR_TIME);
    CHECK(stap_session_why(nullptr, "app1", 4, 5, 1, 3, reasons, &count) == STAP_ERROR_ARGUMENT);
    CHECK(stap_session_why(s, nullptr, 4, 5, 1, 3, reasons, &count) == STAP_ERROR_ARGUMENT);
    CHECK(stap_session_why(s, "app1", 4, 5, 1, 3, nullptr, &count) == STAP_ERROR_ARGUMENT);
    CHECK(stap_session_why(s, "app1", 4, 5, 1, 3, reasons, nullptr) == STAP_ERROR_ARGUMENT);
    CHECK(count == 77);
    CHECK(stap_session_why(s, "app1", 4, 5, 1, 0, nullptr, &count) == STAP_OK && count == 0);
}

std::vector<stap_candidate> row_of(const std::string& letters) {
    std::vector<stap_candidate> row;
    for (const char& letter : letters) row.push_back({&letter, 1, STAP_NO_INDEX, 0});
    return row;
}

std::string steady(const std::string& shown, const std::string& ranked) {
    const std::vector<stap_candidate> now = row_of(shown), best = row_of(ranked);
    std::vector<stap_candidate> row(best.size());
    CHECK(stap_steady(now.data(), now.size(), best.data(), best.size(), row.data()) == STAP_OK);
    std::string out;
    for (const stap_candidate& c : row) out.append(c.app, c.length);
    return out;
}

void rows_stand_still() {
    CHECK_EQUAL(steady("abcd", "dcba"), "abcd");
    CHECK_EQUAL(steady("abcd", "dyxa"), "ayxd");
    CHECK_EQUAL(steady("", "cab"), "cab");
    CHECK_EQUAL(steady("abcd", "cxd"), "xcd");
    CHECK_EQUAL(steady("abcd", ""), "");
    const std::string letters = "abca";
    const std::vector<stap_candidate> twice = row_of(letters);
    stap_candidate row[4] = {{"z", 1, 0, 0}};
    CHECK(stap_steady(nullptr, 0, twice.data(), 4, row) == STAP_ERROR_ARGUMENT);
    CHECK(stap_steady(nullptr, 1, twice.data(), 3, row) == STAP_ERROR_ARGUMENT);
    CHECK(stap_steady(nullptr, 0, twice.data(), 3, nullptr) == STAP_ERROR_ARGUMENT);
    const stap_candidate nameless = {nullptr, 0, 0, 0};
    CHECK(stap_steady(&nameless, 1, twice.data(), 3, row) == STAP_ERROR_ARGUMENT);
    CHECK(*row[0].app == 'z');
    CHECK(stap_steady(nullptr, 0, twice.data(), 3, row) == STAP_OK && *row[2].app == 'c');
}

}  // namespace

int main() {
    fading_counts_are_told_in_whole_numbers();
    reasons_are_sorted_and_change_nothing();
    wrong_questions_are_refused();
    rows_stand_still();
    return failures != 0;
}

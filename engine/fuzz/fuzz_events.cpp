// Any bytes as a caller: events and notifications with any time, floods of new apps, apps forgotten, rankings,
// snapshots sound and damaged, in any order.
#include <cmath>

#include "kinds.h"

namespace {

struct Bytes {
    const uint8_t* at;
    size_t left;
    template <typename T>
    T get() {
        T value{};
        const size_t size = std::min(left, sizeof value);
        if (size) std::memcpy(&value, at, size);
        at += size;
        left -= size;
        return value;
    }
};

void observe(stap_session* session, Bytes& in) {
    char app[16];
    const int length = std::snprintf(app, sizeof app, "%u", unsigned(in.get<uint8_t>() % 16));
    const double minutes = in.get<double>();
    const double hour = in.get<uint8_t>() & 1 ? stap_hour_of_day(minutes) : double(in.get<float>());
    const stap_status status = stap_session_observe(session, app, size_t(length), in.get<uint8_t>() % 3, minutes, hour);
    need(status == STAP_OK || status == STAP_ERROR_TIME || status == STAP_ERROR_ACTION);
    if (!std::isfinite(minutes)) need(status != STAP_OK);
}

void notify(stap_session* session, Bytes& in) {
    const std::string app = std::to_string(in.get<uint8_t>() % 20);
    const double minutes = in.get<double>();
    const stap_status status = stap_session_notify(session, app.data(), app.size(), minutes);
    need(status == (std::fabs(minutes) <= STAP_MOST_MINUTES ? STAP_OK : STAP_ERROR_TIME));
}

// Gone from the answer, and from the index.
void forget(stap_session* session, Bytes& in) {
    const std::string app = std::to_string(in.get<uint8_t>() % 16);
    const stap_status status = stap_session_forget(session, app.data(), app.size());
    need(status == STAP_OK || status == STAP_ERROR_APP);
    uint32_t index = 0;
    need(stap_session_index(session, app.data(), app.size(), &index) == STAP_ERROR_APP);
    const stap_name name = {app.data(), app.size()};
    const stap_filter filter = {&name, 1, nullptr, 0};
    stap_candidate best[2];
    size_t count = 0;
    stap_session_rank_among(session, in.get<uint8_t>() & 1 ? STAP_WHENEVER : STAP_OTHER, 0, &filter, 2, best, &count,
                            nullptr);
    need(count == 0);
}

void rank_at(stap_session* session, Bytes& in) {
    stap_candidate best[32];
    size_t count = 0;
    float unseen = 0;
    const double minutes = in.get<double>();
    const stap_status status = stap_session_rank_at(session, minutes, 12, 32, best, &count, &unseen);
    need(status == STAP_OK || status == STAP_ERROR_EMPTY || status == STAP_ERROR_TIME);
    double sum = double(unseen);
    for (size_t i = 0; status == STAP_OK && i < count; ++i) sum += double(best[i].probability);
    need(status != STAP_OK || (sum > 0.999 || (count == 0 && sum == 0)));
    need(sum < 1.001);
}

// What is asked for and nothing else, at any time.
void rank_among(stap_session* session, Bytes& in) {
    const std::string some[] = {std::to_string(in.get<uint8_t>() % 16), std::to_string(in.get<uint8_t>() % 16)};
    const stap_name names[] = {{some[0].data(), some[0].size()}, {some[1].data(), some[1].size()}};
    const uint8_t how = in.get<uint8_t>();
    const stap_filter filter = {how & 1 ? names : nullptr, how & 1 ? 2u : 0u, names + 1, size_t(how >> 1 & 1)};
    const double moments[] = {STAP_WHENEVER, STAP_OTHER, double(in.get<uint16_t>()), 1e12};
    stap_candidate best[16];
    size_t count = 0;
    const stap_status status =
        stap_session_rank_among(session, moments[how / 4 % 4], 12, &filter, 16, best, &count, nullptr);
    need(status == STAP_OK || status == STAP_ERROR_EMPTY);
    for (size_t i = 0; status == STAP_OK && i < count; ++i) {
        const std::string app(best[i].app, best[i].length);
        need((!(how & 1) || app == some[0] || app == some[1]) && (!(how & 2) || app != some[1]));
    }
}

void flood(stap_session* session, int count, uint64_t& apps) {
    for (int i = 0; i < count; ++i) {
        const std::string app = "new" + std::to_string(apps++);
        need(stap_session_observe(session, app.data(), app.size(), STAP_OPEN, double(apps), 12) == STAP_OK);
    }
}

void rank(stap_session* session, size_t k) {
    stap_candidate best[8];
    size_t count = 0;
    const stap_status status = stap_session_rank(session, k, best, &count);
    need(status == STAP_OK || status == STAP_ERROR_EMPTY);
    double sum = 0;
    for (size_t i = 0; status == STAP_OK && i < count; ++i)
        sum += double(best[i].probability) + double(best[i].length > 0 ? 0 : 1e9);
    float unseen = 0;
    const stap_status left = stap_session_unseen(session, &unseen);
    need(left == STAP_OK || left == STAP_ERROR_EMPTY);
    need(sum + double(unseen) < 1.001);
}

// Reasons are numbers and names, of any app at any time.
void why(stap_session* session, uint8_t which) {
    char app[16];
    const int length = std::snprintf(app, sizeof app, "%u", unsigned(which % 16));
    const double moments[] = {STAP_WHENEVER, STAP_OTHER, 0, 1e6};
    stap_reason reasons[4];
    size_t count = 0;
    const stap_status status =
        stap_session_why(session, app, size_t(length), moments[which / 16 % 4], 12, 4, reasons, &count);
    need(status == STAP_OK || status == STAP_ERROR_APP);
    for (size_t i = 0; status == STAP_OK && i < count; ++i)
        need(reasons[i].kind < STAP_REASON_KINDS && reasons[i].strength > 0 && reasons[i].hour < 24 &&
             (!reasons[i].app || std::string(reasons[i].app, reasons[i].length).size() > 0));
}

// The same answer to the last bit.
void compare(stap_session* before, stap_session* after) {
    stap_candidate best[2][8];
    size_t count[2] = {0, 0};
    float unseen[2] = {0, 0};
    for (double minutes : {STAP_OTHER, STAP_WHENEVER, 1e6}) {
        need(stap_session_rank_among(before, minutes, 12, nullptr, 8, best[0], &count[0], &unseen[0]) ==
             stap_session_rank_among(after, minutes, 12, nullptr, 8, best[1], &count[1], &unseen[1]));
        need(count[0] == count[1] && unseen[0] == unseen[1]);
        for (size_t i = 0; i < count[0]; ++i)
            need(best[0][i].probability == best[1][i].probability && best[0][i].length == best[1][i].length &&
                 std::memcmp(best[0][i].app, best[1][i].app, best[0][i].length) == 0);
    }
    need(stap_session_unseen(before, &unseen[0]) == stap_session_unseen(after, &unseen[1]) && unseen[0] == unseen[1]);
}

void go_on_elsewhere(stap_session*& session, Bytes& in, const stap_model* model) {
    std::vector<uint8_t> state = state_of(session);
    stap_session* other = nullptr;
    need(stap_session_restore(model, STAP_KERNELS_BEST, state.data(), state.size(), &other) == STAP_OK);
    need(state_of(other) == state);
    if (state.back() & 2) stap_session_catch_up(other, 100, nullptr);
    if (state.back() & 1)
        compare(session, other);  // not always: ranking changes what is computed when, if not the answer
    stap_session_free(session);
    session = other;
    // A damaged one with its hash made right again: refused or sound, never undefined.
    const uint16_t where = in.get<uint16_t>();
    state[where % (state.size() - 8)] ^= uint8_t(in.get<uint8_t>() | 1);
    repair(state);
    stap_session* damaged = nullptr;
    if (stap_session_restore(model, STAP_KERNELS_BEST, state.data(), state.size(), &damaged) == STAP_OK) {
        stap_candidate best[4];
        size_t count = 0;
        for (int i = 0; i < 3; ++i) {
            stap_session_rank(damaged, 4, best, &count);
            stap_session_rank_at(damaged, 5, 0, 4, best, &count, nullptr);
            stap_session_forget(damaged, "1", 1);
            stap_session_observe(damaged, "again", 5, 1, 0, 0);
        }
        stap_session_free(damaged);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    Bytes in{data, size};
    stap_options options = stap_options_default();
    const uint8_t choice = in.get<uint8_t>();
    options.strategy = choice % 4;
    options.cache = choice / 4 % 3;
    options.app_limit = choice / 12 % 7;
    options.kernels = choice == 255 ? STAP_KERNELS_SCALAR : STAP_KERNELS_BEST;  // slow, and a unit test's business
    const stap_model* const chosen = model_of(in.get<uint8_t>());
    stap_session* session = nullptr;
    need(stap_session_new(chosen, &options, &session) == STAP_OK);
    uint64_t apps = 0;
    // An input costs so much and no more, or mutation would breed slow ones: every bound is within reach of 32 events.
    int work = 32;
    while (in.left > 0 && work > 0) {
        const uint8_t op = in.get<uint8_t>();
        --work;
        switch (op % 12) {
            case 0: rank(session, op / 12 % 8); break;
            case 1: stap_session_catch_up(session, op / 12, nullptr); break;
            case 2:
                go_on_elsewhere(session, in, chosen);
                work -= 15;
                break;
            case 3:
                flood(session, std::min(op / 12 % 9, work), apps);
                work -= op / 12 % 9;
                break;
            case 4: notify(session, in); break;
            case 5: forget(session, in); break;
            case 6: rank_at(session, in); break;
            case 7: why(session, in.get<uint8_t>()); break;
            case 8: rank_among(session, in); break;
            default: observe(session, in);
        }
    }
    stap_session_free(session);
    return 0;
}

// Threads: sessions of one model are independent, and one session in two hands says so instead of racing.
// Run under ThreadSanitizer too.
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "driver.h"

namespace {

constexpr stap_kernels kAll[] = {STAP_KERNELS_SCALAR, STAP_KERNELS_AVX2, STAP_KERNELS_AVX512, STAP_KERNELS_NEON};
constexpr size_t kThreads = 4;

void together(const std::function<void(size_t)>& work) {
    std::vector<std::thread> threads;
    for (size_t t = 0; t < kThreads; ++t) threads.emplace_back(work, t);
    for (std::thread& thread : threads) thread.join();
}

bool has(const stap_model* model, const stap_options& options) {
    stap_session* session = nullptr;
    const stap_status status = stap_session_new(model, &options, &session);
    stap_session_free(session);
    return status == STAP_OK;
}

// Sessions of one model, each on its own thread, are sessions alone.
void threads_are_independent(const stap_model* model, const stap_options& options) {
    std::vector<std::vector<uint8_t>> found(kThreads);
    together([&](size_t t) {
        const SessionPointer session = open(model, options);
        for (uint64_t i = 0; i < 120; ++i) {
            observe(session.get(), i, 15);
            answer(session.get());
        }
        found[t] = snapshot(session.get());
    });
    for (const auto& state : found) CHECK(state == found[0]);
}

// Threads that share a session without a lock: a call is done, or it meets another and changes nothing. Each goes on
// until many of its own are done: where one is put to sleep in a call, the others would be through before it wakes.
void a_shared_session_says_busy(const stap_model* model, const stap_options& options) {
    const SessionPointer session = open(model, options);
    observe(session.get(), 0, 15);
    constexpr uint64_t kDone = 600;
    std::atomic<uint64_t> taken{1}, busy{0}, done[kThreads] = {};
    constexpr auto kRelaxed = std::memory_order_relaxed;  // or counting would put the calls in order for the session
    const auto met = [&](size_t t, stap_status status) {
        CHECK(status == STAP_OK || status == STAP_ERROR_APP || status == STAP_ERROR_BUSY);
        (status == STAP_ERROR_BUSY ? busy : done[t]).fetch_add(1, kRelaxed);
        if (status == STAP_ERROR_BUSY) std::this_thread::yield();
        return status == STAP_OK;
    };
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    const auto use = [&](size_t t, uint64_t i, std::vector<uint8_t>& room) {
        stap_candidate best[32];
        size_t count = 0, size = 0;
        float share = 0, logits[12];
        uint32_t index = 0;
        stap_reason reasons[STAP_REASON_KINDS];
        stap_session_info info;
        const std::string app = app_of(i, 15);
        const double minutes = 29e6 + double(i);
        if (met(t, stap_session_observe(session.get(), app.data(), app.size(), int(i % 2), minutes, 3)))
            taken.fetch_add(1, kRelaxed);
        met(t, stap_session_rank(session.get(), 32, best, &count));
        met(t, stap_session_rank_at(session.get(), minutes, 3, 32, best, &count, &share));
        met(t, stap_session_rank_among(session.get(), minutes, 3, nullptr, 32, best, &count, &share));
        met(t, stap_session_why(session.get(), app.data(), app.size(), minutes, 3, STAP_REASON_KINDS, reasons, &count));
        met(t, stap_session_notify(session.get(), app.data(), app.size(), minutes));
        met(t, stap_session_forget(session.get(), "nobody", 6));
        met(t, stap_session_index(session.get(), app.data(), app.size(), &index));
        met(t, stap_session_logits(session.get(), logits, 12));
        met(t, stap_session_catch_up(session.get(), t, &size));
        met(t, stap_session_get_info(session.get(), &info));
        met(t, stap_session_unseen(session.get(), &share));
        if (i % 16 == 0) met(t, stap_session_snapshot(session.get(), room.data(), room.size(), &size));
    };
    together([&](size_t t) {
        std::vector<uint8_t> room(1 << 20);
        const auto goes_on = [&] {
            return done[t].load(kRelaxed) < kDone ||
                   (busy.load(kRelaxed) == 0 && std::chrono::steady_clock::now() < end);
        };
        for (uint64_t i = 0; goes_on(); ++i) use(t, i, room);
    });
    stap_session_info info;
    CHECK(stap_session_get_info(session.get(), &info) == STAP_OK && info.events == taken);
    CHECK(busy > 0);
    const SessionPointer other = restore(model, snapshot(session.get()));
    answer(session.get());
    answer(other.get());
    CHECK(snapshot(session.get()) == snapshot(other.get()));
}

}  // namespace

int main() {
    for (const tiny::Config& config : {tiny::config(), tiny::config_with_launches()}) {
        const ModelPointer model = load(tiny::model(config, "I8"));
        for (stap_kernels kernels : kAll) {
            stap_options options = stap_options_default();
            options.kernels = kernels;
            if (!has(model.get(), options)) continue;
            threads_are_independent(model.get(), options);
            a_shared_session_says_busy(model.get(), options);
        }
    }
    return failures != 0;
}

// Memory ends: every allocation of a whole life fails in turn, and a session is whole after it or says that it is not.
// And names that lie in the session's own memory are handed back to it.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <new>
#include <utility>

#include "driver.h"
#include "memory.h"

namespace {

bool counting = false;  // in a call of the engine
uint64_t before = 0;    // how many allocations succeed before the one that fails; 0 is the next
bool failed = true;     // then no more is refused

bool is_refused() {
    if (!counting || failed) return false;
    failed = before == 0;
    --before;
    return failed;
}

void* allocate(size_t size) {
    void* memory = is_refused() ? nullptr : std::malloc(size ? size : 1);
    if (!memory) throw std::bad_alloc();
    return memory;
}

void* allocate_or_null(size_t size) { return is_refused() ? nullptr : std::malloc(size ? size : 1); }

}  // namespace

void* operator new(size_t size) { return allocate(size); }
void* operator new[](size_t size) { return allocate(size); }
void* operator new(size_t size, const std::nothrow_t&) noexcept { return allocate_or_null(size); }
void* operator new[](size_t size, const std::nothrow_t&) noexcept { return allocate_or_null(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
extern "C" void* __real_aligned_alloc(size_t alignment, size_t size);
extern "C" void* __wrap_aligned_alloc(size_t alignment, size_t size) {  // by the linker, for buffers and slabs
    return is_refused() ? nullptr : __real_aligned_alloc(alignment, size);
}

namespace {

template <typename Call>
stap_status call(Call function) {
    counting = true;
    const stap_status status = function();
    counting = false;
    return status;
}

constexpr char kFile[] = "test_memory.safetensors";

struct Life {
    ModelPointer model;
    SessionPointer session;
    std::vector<uint8_t> state;
};

// What is done in a life, one call each: a status, and what was answered.
using Step = std::function<stap_status(Life&, std::string& answer)>;

std::string bits(const stap_candidate* best, size_t count, float unseen) {
    std::string out(reinterpret_cast<const char*>(&unseen), sizeof unseen);
    for (size_t i = 0; i < count; ++i) {
        out.append(best[i].app, best[i].length);
        out.append(reinterpret_cast<const char*>(&best[i].probability), sizeof best[i].probability);
    }
    return out;
}

stap_status rank(Life& life, std::string& out) {
    stap_candidate best[32];
    size_t count = 0;
    const stap_status status = call([&] { return stap_session_rank(life.session.get(), 32, best, &count); });
    out = bits(best, count, 0);
    return status;
}

stap_status rank_at(Life& life, double minutes, std::string& out) {
    stap_candidate best[32];
    size_t count = 0;
    float unseen = 0;
    const stap_status status =
        call([&] { return stap_session_rank_at(life.session.get(), minutes, 7, 32, best, &count, &unseen); });
    out = bits(best, count, unseen);
    return status;
}

stap_status rank_among(Life& life, double minutes, std::string& out) {
    const stap_name among[] = {{"app1", 4}, {"app2", 4}, {"a name longer than a string holds in place", 42}};
    const stap_filter filter = {among, 3, among + 1, 1};
    stap_candidate best[32];
    size_t count = 0;
    float unseen = 0;
    const stap_status status = call(
        [&] { return stap_session_rank_among(life.session.get(), minutes, 7, &filter, 32, best, &count, &unseen); });
    out = bits(best, count, unseen);
    return status;
}

stap_status why(Life& life, const std::string& app, double minutes, std::string& out) {
    stap_reason reasons[STAP_REASON_KINDS];
    size_t count = 0;
    const stap_status status = call([&] {
        return stap_session_why(life.session.get(), app.data(), app.size(), minutes, 7, STAP_REASON_KINDS, reasons,
                                &count);
    });
    for (size_t i = 0; i < count; ++i) {
        out.append(reinterpret_cast<const char*>(&reasons[i].strength), sizeof reasons[i].strength);
        out.append(reasons[i].app ? reasons[i].app : "", reasons[i].length);
    }
    return status == STAP_ERROR_APP ? STAP_OK : status;
}

stap_status unseen(Life& life, std::string& out) {
    float share = 0;
    const stap_status status = call([&] { return stap_session_unseen(life.session.get(), &share); });
    out = bits(nullptr, 0, share);
    return status;
}

stap_status logits(Life& life, std::string& out) {
    float values[12] = {};
    const stap_status status = call([&] { return stap_session_logits(life.session.get(), values, 12); });
    out.assign(reinterpret_cast<const char*>(values), sizeof values);
    return status;
}

stap_status index_of(Life& life, const std::string& app, std::string& out) {
    uint32_t index = 0;
    const stap_status status =
        call([&] { return stap_session_index(life.session.get(), app.data(), app.size(), &index); });
    out = std::to_string(index);
    return status == STAP_ERROR_APP ? STAP_OK : status;
}

stap_status catch_up(Life& life, std::string& out) {
    size_t left = 0;
    const stap_status status = call([&] { return stap_session_catch_up(life.session.get(), 3, &left); });
    out = std::to_string(left);
    return status;
}

stap_status take_snapshot(Life& life, std::string& out) {
    life.state.resize(1 << 16);
    size_t size = 0;
    const stap_status status =
        call([&] { return stap_session_snapshot(life.session.get(), life.state.data(), life.state.size(), &size); });
    life.state.resize(size);
    out.assign(life.state.begin(), life.state.end());
    return status;
}

stap_status restore(Life& life) {
    stap_session* made = nullptr;
    const stap_status status = call([&] {
        return stap_session_restore(life.model.get(), STAP_KERNELS_BEST, life.state.data(), life.state.size(), &made);
    });
    if (status == STAP_OK)
        life.session.reset(made);
    else
        CHECK(made == nullptr);
    return status;
}

std::string name_of(uint64_t i) {  // some of them too long for a string to hold in place
    return app_of(i, 17) + (i / 2 % 3 == 0 ? " with a long name of its own" : "");
}

void add_event(std::vector<Step>& steps, uint64_t i) {
    const double minutes = 29e6 + 3.7 * double(i);
    const std::string app = name_of(i);
    steps.push_back([=](Life& life, std::string&) {
        return call([&] {
            return stap_session_observe(life.session.get(), app.data(), app.size(), i % 2 == 0, minutes,
                                        stap_hour_of_day(minutes));
        });
    });
    if (i % 5 == 0) steps.push_back(rank);
    if (i % 7 == 0) steps.push_back([=](Life& life, std::string& out) { return rank_at(life, minutes + 9, out); });
    if (i % 9 == 0) steps.push_back([=](Life& life, std::string& out) { return rank_among(life, minutes, out); });
    if (i % 4 == 0) {
        const std::string other = name_of(i < 4 ? i : i - 4);
        const double asked = i % 8 ? minutes + 9 : STAP_OTHER;
        steps.push_back([=](Life& life, std::string& out) { return why(life, other, asked, out); });
    }
    if (i % 11 == 0) steps.push_back([=](Life& life, std::string& out) { return index_of(life, app, out); });
    if (i % 13 == 0) steps.push_back(logits);
    if (i % 8 == 0) steps.push_back(catch_up);
    if (i % 6 == 0) {
        const std::string other = name_of(i / 2 + 10);
        steps.push_back([=](Life& life, std::string&) {
            return call([&] { return stap_session_notify(life.session.get(), other.data(), other.size(), minutes); });
        });
    }
    if (i % 17 == 16)
        steps.push_back([=](Life& life, std::string&) {
            return call([&] { return stap_session_forget(life.session.get(), app.data(), app.size()); });
        });
}

std::vector<Step> a_life(const stap_options& options) {
    std::vector<Step> steps;
    steps.push_back([=](Life& life, std::string&) {
        stap_model* made = nullptr;
        const stap_status status = call([&] { return stap_model_load_file(kFile, STAP_I8, &made, nullptr, 0); });
        CHECK((status == STAP_OK) == (made != nullptr));
        life.model.reset(made);
        return status;
    });
    steps.push_back([=](Life& life, std::string&) {
        stap_session* made = nullptr;
        const stap_status status = call([&] { return stap_session_new(life.model.get(), &options, &made); });
        CHECK((status == STAP_OK) == (made != nullptr));
        life.session.reset(made);
        return status;
    });
    for (uint64_t i = 0; i < 34; ++i) add_event(steps, i);
    steps.push_back(unseen);
    steps.push_back(take_snapshot);
    steps.push_back([](Life& life, std::string&) { return restore(life); });
    for (uint64_t i = 34; i < 40; ++i) add_event(steps, i);
    steps.push_back(rank);
    steps.push_back(take_snapshot);
    return steps;
}

// Whatever is asked of it.
void check_broken(Life& life) {
    stap_session* session = life.session.get();
    std::string unused;
    stap_session_info info;
    CHECK(stap_session_get_info(session, &info) == STAP_ERROR_BROKEN);
    CHECK(stap_session_observe(session, "app1", 4, STAP_OPEN, 29e6, 3) == STAP_ERROR_BROKEN);
    CHECK(stap_session_notify(session, "app1", 4, 29e6) == STAP_ERROR_BROKEN);
    CHECK(stap_session_forget(session, "app1", 4) == STAP_ERROR_BROKEN);
    CHECK(rank(life, unused) == STAP_ERROR_BROKEN);
    CHECK(rank_at(life, 29e6, unused) == STAP_ERROR_BROKEN);
    CHECK(rank_among(life, 29e6, unused) == STAP_ERROR_BROKEN);
    CHECK(why(life, "app1", 29e6, unused) == STAP_ERROR_BROKEN);
    CHECK(unseen(life, unused) == STAP_ERROR_BROKEN);
    CHECK(logits(life, unused) == STAP_ERROR_BROKEN);
    CHECK(index_of(life, "app1", unused) == STAP_ERROR_BROKEN);
    CHECK(catch_up(life, unused) == STAP_ERROR_BROKEN);
    CHECK(take_snapshot(life, unused) == STAP_ERROR_BROKEN);
}

bool is_broken(const Life& life) {
    stap_session_info info;
    return life.session && stap_session_get_info(life.session.get(), &info) == STAP_ERROR_BROKEN;
}

struct Count {
    uint64_t faults = 0, broken = 0;
};

std::vector<uint8_t> state_of(const Life& life) {
    return life.session ? snapshot(life.session.get()) : std::vector<uint8_t>();
}

// An untroubled piece of a life: what is answered at each step, and the state before it; last the state after all.
struct Piece {
    const Step* steps;
    std::vector<std::string> answers;
    std::vector<std::vector<uint8_t>> states;

    Piece(Life& life, const Step* steps_, size_t n) : steps(steps_), answers(n), states{state_of(life)} {
        for (size_t i = 0; i < n; ++i) {
            CHECK(steps[i](life, answers[i]) == STAP_OK);
            states.push_back(state_of(life));
        }
    }
};

// The same piece, in which memory ends once, and on where that is possible: the call that failed has changed nothing.
void live(Life& life, const Piece& piece, Count& count) {
    for (size_t i = 0; i < piece.answers.size() && failures == 0; ++i) {
        std::string answer;
        stap_status status = piece.steps[i](life, answer);
        if (status == STAP_ERROR_MEMORY) {
            CHECK(failed);
            if (is_broken(life)) {
                ++count.broken;
                return check_broken(life);
            }
            CHECK(state_of(life) == piece.states[i]);
            answer.clear();
            status = piece.steps[i](life, answer);
        }
        CHECK(status == STAP_OK);
        CHECK(answer == piece.answers[i]);
    }
    CHECK(state_of(life) == piece.states.back());
}

// Every piece begins with a session that never failed, restored from where the piece before ended.
Count fail_all(const tiny::Config& config, stap_strategy strategy, uint64_t stride) {
    constexpr size_t kPiece = 3;
    const std::string file = tiny::model(config);
    std::FILE* copy = std::fopen(kFile, "wb");
    CHECK(copy && std::fwrite(file.data(), 1, file.size(), copy) == file.size() && std::fclose(copy) == 0);
    stap_options options = stap_options_default();
    options.strategy = strategy;
    const std::vector<Step> steps = a_life(options);
    Life untroubled, life;
    Count count;
    for (size_t at = 0; at < steps.size() && failures == 0; at += kPiece) {
        const std::vector<uint8_t> kept = untroubled.state;
        const Piece piece(untroubled, steps.data() + at, std::min(kPiece, steps.size() - at));
        for (uint64_t nth = 0; failures == 0; nth += stride) {
            life.session = at > 0 ? restore(untroubled.model.get(), piece.states[0]) : SessionPointer();
            life.state = kept;
            before = nth;
            failed = false;
            live(life, piece, count);
            if (!failed) break;
            ++count.faults;
        }
        failed = true;  // none is refused until the next piece
    }
    return count;
}

void every_allocation_may_fail(uint64_t stride) {
    const std::pair<tiny::Config, stap_strategy> lives[] = {{tiny::config_pure(), STAP_ROLLING},
                                                            {tiny::config_with_evidence(), STAP_ISWI},
                                                            {tiny::config_with_launches(), STAP_ISWI}};
    for (auto [config, strategy] : lives) {
        config.layers = 1;
        const Count count = fail_all(config, strategy, stride);
        std::printf("%llu allocations failed, %llu sessions broken\n", (unsigned long long)count.faults,
                    (unsigned long long)count.broken);
        CHECK(count.broken > 0 && count.broken < count.faults);
    }
}

// Names of candidates, whole and cut, lie where observe, notify and forget move things.
void a_candidate_s_name_may_be_handed_back() {
    for (const tiny::Config& config : {tiny::config(), tiny::config_with_evidence()}) {
        const ModelPointer model = load(tiny::model(config));
        const SessionPointer own = open(model.get(), stap_options_default()),
                             other = open(model.get(), stap_options_default());
        const auto observe_both = [&](const char* app, size_t length, double minutes) {
            const std::string copy(app, length);
            CHECK(stap_session_observe(other.get(), copy.data(), copy.size(), STAP_OPEN, minutes, 1) == STAP_OK);
            CHECK(stap_session_observe(own.get(), app, length, STAP_OPEN, minutes, 1) == STAP_OK);
        };
        for (uint64_t i = 0; i < 40; ++i) {
            const std::string app = name_of(i);
            observe_both(app.data(), app.size(), double(i));
        }
        for (uint64_t i = 0; i < 200; ++i) {
            stap_candidate best[64];
            size_t count = 0;
            CHECK(stap_session_rank(other.get(), 64, best, &count) == STAP_OK);
            CHECK(stap_session_rank(own.get(), 64, best, &count) == STAP_OK && count > 0);
            const stap_candidate& one = best[stap::hash_mix(i) % count];
            const size_t cut = i % 3 && one.length > 4 ? 1 + stap::hash_mix(i + 1) % 3 : 0;
            const std::string app(one.app, one.length);
            if (i % 10 == 3) {
                CHECK(stap_session_notify(other.get(), app.data(), app.size(), double(i)) == STAP_OK);
                CHECK(stap_session_notify(own.get(), one.app, one.length, double(i)) == STAP_OK);
            } else if (i % 10 == 7) {
                CHECK(stap_session_forget(other.get(), app.data(), app.size()) == STAP_OK);
                CHECK(stap_session_forget(own.get(), one.app, one.length) == STAP_OK);
            } else {
                observe_both(one.app + cut % 2, one.length - cut, 40 + double(i));
            }
            CHECK(snapshot(own.get()) == snapshot(other.get()));
        }
    }
}

// A small one costs what it holds; a large one begins on a huge page and is whole ones; a refused one throws.
void a_slab_is_of_huge_pages_where_it_is_large() {
    using stap::kAlign, stap::kHugePage, stap::kLarge, stap::slab_new, stap::slab_size;
    CHECK(slab_size(0) == kAlign && slab_size(1) == kAlign && slab_size(3 * kAlign) == 3 * kAlign);
    CHECK(slab_size(kLarge - kAlign) == kLarge - kAlign && slab_size(kLarge + 1) == kLarge + kHugePage);
    for (size_t bytes : {size_t(100), kLarge + 5}) {
        const stap::Buffer<uint8_t> slab = slab_new(bytes);
        CHECK(reinterpret_cast<uintptr_t>(slab.get()) % (bytes < kLarge ? kAlign : kHugePage) == 0);
        std::fill_n(slab.get(), slab_size(bytes), uint8_t(7));
        bool refused = false;
        before = 0;
        failed = false;
        counting = true;
        try {
            slab_new(bytes);
        } catch (const std::bad_alloc&) {
            refused = true;
        }
        counting = false;
        CHECK(refused);
    }
}

}  // namespace

int main(int argc, char**) {
    a_slab_is_of_huge_pages_where_it_is_large();
    every_allocation_may_fail(argc > 1 ? 37 : 1);  // emulated processors are slow
    std::remove(kFile);
    a_candidate_s_name_may_be_handed_back();
    return failures != 0;
}

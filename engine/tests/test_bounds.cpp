// What a forged file or snapshot may cost before it is refused: memory is counted, time is compared.
#include <algorithm>
#include <ctime>
#include <functional>

#include "counted.h"
#include "driver.h"
#include "person/session.h"

namespace {

// The most bytes that `work` held at once, beyond what was held before.
template <typename Work>
size_t cost(Work work) {
    const size_t before = peak = held;
    work();
    return peak - before;
}

std::string refuse(const std::string& file) {
    char message[256] = "";
    stap_model* none = nullptr;
    CHECK(stap_model_load_buffer(file.data(), file.size(), STAP_AS_STORED, &none, message, sizeof message) != STAP_OK);
    return message;
}

// A header of these keys; `twin`: the first once more.
std::string header_of(std::vector<std::string> keys, bool twin) {
    if (twin) keys.push_back(keys[0]);
    std::string header = "{";
    for (size_t i = 0; i < keys.size(); ++i) header += (i ? ",\"" : "\"") + keys[i] + "\":0";
    return tiny::with_length(header + "}");
}

std::vector<std::string> alike(size_t count) {  // but for their end; 14 bytes for each in a header
    std::vector<std::string> keys;
    for (size_t i = 0; i < count; ++i) keys.push_back("k" + std::to_string(10000000 + i));
    return keys;
}

// Keys of 16 letters to which libstdc++'s std::hash gives one number: the second half undoes what the first has done.
std::vector<std::string> colliding(size_t count) {
    constexpr uint64_t kFactor = 0xc6a4a7935bd1e995, kSeed = 0xc70f6907 ^ 16 * kFactor;
    uint64_t inverse = 1;
    for (int i = 0; i < 6; ++i) inverse *= 2 - kFactor * inverse;
    const auto shift = [](uint64_t bits) { return bits ^ bits >> 47; };  // its own inverse
    const auto is_plain = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };
    std::vector<std::string> keys;
    for (uint64_t i = 0; keys.size() < count; ++i) {
        char key[16];
        uint64_t half;
        for (int c = 0; c < 8; ++c) key[c] = char('a' + (i >> 4 * c & 15));
        std::memcpy(&half, key, 8);
        half = inverse * shift(inverse * ((kSeed ^ shift(half * kFactor) * kFactor) * kFactor));
        std::memcpy(key + 8, &half, 8);
        if (std::all_of(key + 8, key + 16, is_plain)) keys.emplace_back(key, 16);
    }
#if defined(__GLIBCXX__)
    CHECK(std::hash<std::string>()(keys[0]) == std::hash<std::string>()(keys[1]));
#endif
    return keys;
}

void time_hardly_grows_faster_than_a_header() {
    const auto seconds = [](const std::string& file) {
        std::clock_t best = 0;
        for (int i = 0; i < 9; ++i) {
            const std::clock_t begin = std::clock();  // of this process: others may run meanwhile
            refuse(file);
            const std::clock_t took = std::clock() - begin;
            best = i ? std::min(best, took) : took;
        }
        return double(best) / CLOCKS_PER_SEC;
    };
    CHECK_EQUAL(refuse(header_of(alike(60000), true)).substr(0, 49),
                "safetensors header: JSON key \"k10000000\" twice at");
    CHECK_EQUAL(refuse(header_of(alike(60000), false)).substr(0, 25), "no metadata in the header");
    for (const std::vector<std::string>& keys : {alike(60000), colliding(20000)}) {
        const std::vector<std::string> some(keys.begin(), keys.begin() + std::ptrdiff_t(keys.size() / 4));
        const double quarter = seconds(header_of(some, true)), whole = seconds(header_of(keys, true));
        std::printf("a header of %zu keys takes %.1f ms, one of %zu %.1f ms\n", some.size(), 1e3 * quarter, keys.size(),
                    1e3 * whole);
        CHECK(whole < 9 * quarter);  // 4 if each byte cost the same, 16 if pairs were compared
    }
}

void no_header_takes_much_memory() {
    const auto filled = [](const std::string& begin, const std::string& again, size_t most = 1u << 20) {
        std::string header = begin;
        while (header.size() + again.size() <= most) header += again;
        return tiny::with_length(header);
    };
    size_t most = 0;
    for (const std::string& file :
         {filled("{\"a\":[0", ",0"), filled("{\"a\":[0", ",{\"\":0}"), filled("{\"a\":[", "["),
          filled("{\"a\":[0", ",\"0123456789abcdef\""), filled("{\"a\":\"", "\\u20ac"), header_of(alike(60000), true),
          header_of(alike(74000), false), filled("{\"a\":\"", "0123456789abcdef", 16u << 20)})
        most = std::max(most, cost([&] { refuse(file); }));
    std::printf("the dearest header takes %.1f MB\n", 1e-6 * double(most));
    CHECK(most < 24u << 20);
}

// A snapshot's caches are as long as it says. One that says more than its bytes hold is refused before there is room.
void no_snapshot_takes_much_more_than_its_bytes() {
    tiny::Config config = tiny::config();
    config.dim = 192;
    config.layers = 8;
    config.context = 1 << 14;
    const ModelPointer model = load(tiny::model(config));
    stap_options options = stap_options_default();
    options.cache = STAP_F32;
    const SessionPointer session = open(model.get(), options);
    constexpr uint32_t kEvents = 6000;
    for (uint64_t i = 0; i < kEvents; ++i) observe(session.get(), i);
    std::vector<uint8_t> state = snapshot(session.get());  // nothing was asked: the caches are empty
    const size_t taken = state.size() - 8 - 2 * (sizeof(uint32_t) + sizeof(double));
    std::memcpy(state.data() + taken, &kEvents, sizeof kEvents);
    const uint64_t hash = stap::hash_bytes(state.data(), state.size() - 8, stap::kSnapshotVersion);
    std::memcpy(state.data() + state.size() - 8, &hash, 8);
    const size_t bytes = cost([&] {
        stap_session* none = nullptr;
        CHECK(stap_session_restore(model.get(), STAP_KERNELS_BEST, state.data(), state.size(), &none) ==
              STAP_ERROR_STATE);
    });
    std::printf("a forged snapshot of %.2f MB takes %.2f MB\n", 1e-6 * double(state.size()), 1e-6 * double(bytes));
    CHECK(bytes < 4 * state.size());
}

}  // namespace

int main(int argc, char**) {
    if (argc == 1) time_hardly_grows_faster_than_a_header();  // (an emulator's time says nothing)
    no_header_takes_much_memory();
    no_snapshot_takes_much_more_than_its_bytes();
    return failures != 0;
}

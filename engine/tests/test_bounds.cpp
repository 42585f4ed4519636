// What a forged file or snapshot may cost before it is refused: memory is counted, time is compared.
#include <algorithm>
#include <ctime>

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

// A header of so many keys, 14 bytes for each, alike but for their end; `twin`: the last is the first.
std::string many_keys(size_t count, bool twin) {
    std::string header = "{";
    for (size_t i = 0; i < count; ++i) {
        const std::string number = std::to_string(10000000 + (twin && i + 1 == count ? 0 : i));
        header += (i ? ",\"k" : "\"k") + number + "\":0";
    }
    return tiny::with_length(header + "}");
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
    CHECK_EQUAL(refuse(many_keys(60000, true)).substr(0, 49), "safetensors header: JSON key \"k10000000\" twice at");
    CHECK_EQUAL(refuse(many_keys(60000, false)).substr(0, 25), "no metadata in the header");
    const double quarter = seconds(many_keys(15000, true)), whole = seconds(many_keys(60000, true));
    std::printf("a header of 0.21 MB takes %.1f ms, one of 0.84 MB %.1f ms\n", 1e3 * quarter, 1e3 * whole);
    CHECK(whole < 9 * quarter);  // 4 if each byte cost the same, 16 if pairs were compared
}

void no_header_takes_much_memory() {
    const auto filled = [](const std::string& begin, const std::string& again) {
        std::string header = begin;
        while (header.size() + again.size() <= 1u << 20) header += again;
        return tiny::with_length(header);
    };
    size_t most = 0;
    for (const std::string& file : {filled("{\"a\":[0", ",0"), filled("{\"a\":[0", ",{\"\":0}"),
                                    filled("{\"a\":[", "["), filled("{\"a\":[0", ",\"0123456789abcdef\""),
                                    filled("{\"a\":\"", "\\u20ac"), many_keys(60000, true), many_keys(80000, false)})
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

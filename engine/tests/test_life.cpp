// A long life in which every second app is new, some notify and some are forgotten: once every table is full, nothing
// grows.
//   test_life [EVENTS]    with small bounds, which are soon reached; `life` has the engine's own
#include <fstream>

#include "counted.h"
#include "driver.h"

namespace {

double resident() {  // MB, where the system says it
    double pages = 0;
    std::ifstream("/proc/self/statm") >> pages >> pages;
    return pages * 4096e-6;
}

void a_long_life_holds_no_more(const tiny::Config& config, uint64_t events) {
    const ModelPointer model = load(tiny::model(config));
    const SessionPointer session = open(model.get(), stap_options_default());
    size_t most[2] = {0, 0};  // held in each half
    for (uint64_t i = 0; i < events; ++i) {
        const std::string app = i % 4 < 2 ? app_of(i, 20) : "new app number " + std::to_string(i / 2);
        const double minutes = 29e6 + 3.7 * double(i);
        // Always at nine: some cues hold for ever, and what followed them is more and more.
        CHECK(stap_session_observe(session.get(), app.data(), app.size(), i % 2 == 0, minutes, 9) == STAP_OK);
        const std::string other = "notifier number " + std::to_string(i);
        if (i % 16 == 0) CHECK(stap_session_notify(session.get(), other.data(), other.size(), minutes) == STAP_OK);
        const bool forgets = !config.evidence && i % 16 == 15;  // (or what followed a cue would be forgotten too)
        if (forgets) CHECK(stap_session_forget(session.get(), app.data(), app.size()) == STAP_OK);
        if (i % 64 == 0) answer(session.get());
        size_t& half = most[i >= events / 2];
        half = std::max(half, held);
        if ((i + 1) % (events / 10) == 0) {
            std::printf("after %zu events %.2f MB, at most %.2f; %.1f MB resident\n", size_t(i + 1),
                        1e-6 * double(held), 1e-6 * double(half), resident());
            std::fflush(stdout);
        }
    }
    CHECK(double(most[1]) < 1.02 * double(most[0]));
}

}  // namespace

int main(int argc, char** argv) {
    const uint64_t wanted = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0;
    for (const tiny::Config& config : {tiny::config_with_launches(), tiny::config_pure()})
        a_long_life_holds_no_more(config, wanted ? wanted : 20000);
    return failures != 0;
}

// A long life in which every second app is new: once every table is full, nothing grows.
//   test_life [EVENTS]    with small bounds, which are soon reached; `life` has the engine's own
#include <fstream>

#include "counted.h"
#include "driver.h"
#include "person/bounds.h"

namespace {

double resident() {  // MB, where the system says it
    double pages = 0;
    std::ifstream("/proc/self/statm") >> pages >> pages;
    return pages * 4096e-6;
}

void a_long_life_holds_no_more(uint64_t life) {
    const uint64_t full =
        10 * stap::kGeneration + 1000;  // events; a generation takes a cue of some kind from each usage
    const ModelPointer model = load(tiny::model(tiny::config_with_launches()));
    const SessionPointer session = open(model.get(), stap_options_default());
    size_t most[2] = {0, 0};  // held until then, and after it
    double before = 0;
    for (uint64_t i = 0; i < std::max(life, 2 * full); ++i) {
        const std::string app = i % 4 < 2 ? app_of(i, 20) : "new app number " + std::to_string(i / 2);
        const double minutes = 29e6 + 3.7 * double(i);
        CHECK(stap_session_observe(session.get(), app.data(), app.size(), i % 2 == 0, minutes,
                                   stap_hour_of_day(minutes)) == STAP_OK);
        if (i % 16 == 0) CHECK(stap_session_notify(session.get(), app.data(), app.size(), minutes) == STAP_OK);
        if (i % 64 == 0) answer(session.get());
        most[i >= full] = std::max(most[i >= full], held);
        if (i == full) before = resident();
    }
    std::printf("in %llu events at most %.2f MB (%.1f MB resident), in %llu after them %.2f MB (%.1f MB resident)\n",
                static_cast<unsigned long long>(full), 1e-6 * double(most[0]), before,
                static_cast<unsigned long long>(std::max(life, 2 * full) - full), 1e-6 * double(most[1]), resident());
    CHECK(double(most[1]) < 1.02 * double(most[0]));
}

}  // namespace

int main(int argc, char** argv) {
    a_long_life_holds_no_more(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 20000);
    return failures != 0;
}

// write_seeds loader|events|restore FOLDER: what a target begins with, beside its corpus.
#include <fstream>
#include <string>

#include "driver.h"
#include "kinds.h"

namespace {

void write(const std::string& path, const std::string& data) {
    if (!std::ofstream(path, std::ios::binary).write(data.data(), std::streamsize(data.size()))) std::exit(1);
}

// Model files after a byte that fuzz_loader reads, within its longest input.
void write_models(const std::string& folder) {
    for (uint32_t kind = 0; kind < kKinds; ++kind) {
        tiny::Config small = {2, 4, 4, 1, 1, 2};
        small.evidence = small.candidate_heads = kind > 0 ? 1 : 0;
        small.launches = kind > 1 ? 1 : 0;
        write(folder + "/model" + std::to_string(kind), '\0' + tiny::model(small, "F16"));
    }
}

// Longer lives than the fuzzer would find by itself.
void write_events(const std::string& folder) {
    for (uint32_t kind = 0; kind < kKinds; ++kind)
        for (size_t size : {30, 60, 120, 240}) {
            std::string life(size, '\0');
            for (size_t i = 0; i < size; ++i) life[i] = char(stap::hash_mix(size * 1000 + i));
            life[1] = char(kind);
            write(folder + "/life" + std::to_string(kind) + "-" + std::to_string(size), life);
        }
}

// Snapshots of lives of every kind, with notifications, with apps forgotten and without, ranked or behind.
void write_snapshots(const std::string& folder) {
    for (uint32_t kind = 0; kind < kKinds; ++kind)
        for (uint32_t n = 0; n < 12; ++n) {
            stap_options options = stap_options_default();
            options.strategy = n % 4;
            options.cache = n % 3;
            options.app_limit = n / 6 * 3;
            options.context = n % 5 == 4 ? 4 : 0;
            const SessionPointer session = open(model_of(kind), options);
            for (uint32_t i = 0; i < 3 * n; ++i) {
                observe(session.get(), i, 5 + n);
                if (i % 4 == 1) answer(session.get());
                if (i % 5 == 0) stap_session_notify(session.get(), "app2", 4, 29e6 + 3.7 * i);
                if (i % 9 == 8) stap_session_forget(session.get(), "app1", 4);
            }
            const std::vector<uint8_t> state = state_of(session.get());
            write(folder + "/snapshot" + std::to_string(kind) + "-" + std::to_string(n),
                  char(kind) + std::string(state.begin() + kGuard, state.end() - 8));
        }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    const std::string target = argv[1];
    if (target == "loader") write_models(argv[2]);
    if (target == "events") write_events(argv[2]);
    if (target == "restore") write_snapshots(argv[2]);
    return failures != 0;
}

// write_model FILE [seed|seed-evidence]: a tiny model with evidence on disk, for the C example; or one for fuzz_loader,
// which reads a byte first.
#include <fstream>
#include <string>

#include "tiny.h"

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    std::ofstream out(argv[1], std::ios::binary);
    if (argc > 2) {
        tiny::Config small = {2, 4, 4, 1, 1, 2};  // within the fuzzer's longest input
        small.evidence = small.candidate_heads = argv[2] == std::string("seed-evidence") ? 1 : 0;
        out << '\0' << tiny::model(small, "F16");
    } else {
        out << tiny::model(tiny::config_with_evidence());
    }
    return out.good() ? 0 : 1;
}

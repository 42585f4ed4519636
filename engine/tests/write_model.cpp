// write_model FILE: a tiny model with evidence on disk, for the C example.
#include <fstream>

#include "tiny.h"

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    std::ofstream out(argv[1], std::ios::binary);
    out << tiny::model(tiny::config_with_evidence());
    return out.good() ? 0 : 1;
}

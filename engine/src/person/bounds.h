// How much of a person is remembered: what makes memory and time bounded however long and varied the history is.
#pragma once

#include <cstdint>

namespace stap {

#if !defined(STAP_SMALL_BOUNDS)
constexpr uint32_t kMostApps = 1024;        // with statistics; then the one unused for longest is forgotten
constexpr uint32_t kMostCandidates = 64;    // that the evidence head weighs; for the others the blend speaks alone
constexpr uint32_t kCompared = 24;          // of these, the likeliest: what every candidate is compared with
constexpr uint32_t kGeneration = 1u << 14;  // cues in a generation
constexpr uint32_t kSuccessors = 256;       // more than these, and a cue forgets the fainter half
#else                                       // for fuzzing: a short input reaches all of them
constexpr uint32_t kMostApps = 12;
constexpr uint32_t kMostCandidates = 10;
constexpr uint32_t kCompared = 6;
constexpr uint32_t kGeneration = 16;
constexpr uint32_t kSuccessors = 4;
#endif

}  // namespace stap

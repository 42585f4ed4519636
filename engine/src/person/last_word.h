// The last word on a launch: how much the model and the blend are believed, how readily this person goes back to the
// latest apps, and how readily they follow notifications. It starts as the model alone, and every launch corrects it
// in small, bounded steps, so that nobody is left behind a simple rule for long. reference/last_word.py is the same in
// Python.
#pragma once

#include <vector>

#include "person/blend.h"
#include "person/notices.h"

namespace stap {

constexpr double kWordRate = 0.0015;
constexpr double kWordBiasRate = 0.1, kWordBiasLaunches = 20, kLeastWordBiasRate = 0.01;  // slower launch by launch
constexpr double kLeastWeight = -0.5, kMostWeight = 2, kMostBias = 3;

struct LastWord {
    double weights[2] = {1, 0};      // of the model's log probability, of the blend's
    double biases[2][kBiased] = {};  // of the latest apps: at once, after a pause
    uint64_t launches[2] = {};       // that these were learned from
    Notices notices;
    bool speaks = true;  // otherwise the model has the last word, and nothing is learned

    // (`notices` has looked.) Candidates by place with the model's probabilities, which sum to `total`; they become the
    // corrected ones.
    void correct(const Blend& blend, const Outlook& outlook, const std::vector<uint32_t>& places, double total,
                 std::vector<double>& probability);
    // The app at `chosen` was launched; probability: the model's again.
    void learn(const Blend& blend, const Outlook& outlook, const std::vector<uint32_t>& places, double total,
               std::vector<double>& probability, uint32_t chosen);

   private:
    std::vector<double> model_, blend_;  // log probabilities of the candidates, from the last call
};

}  // namespace stap

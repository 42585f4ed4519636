#include "person/last_word.h"

#include <algorithm>
#include <cmath>

#include "person/evidence.h"

namespace stap {
namespace {

double bounded(double value, double least, double most) { return std::min(std::max(value, least), most); }

}  // namespace

void LastWord::correct(const Blend& blend, const Outlook& outlook, const std::vector<uint32_t>& places, double total,
                       std::vector<double>& probability) {
    const size_t n = places.size();
    const double* bias = biases[outlook.pause > kAtOnce];
    model_.resize(n);
    blend_.resize(n);
    for (size_t i = 0; i < n; ++i) {
        const uint32_t rank = blend.apps[places[i]].rank;
        model_[i] = std::log(std::max(probability[i] / total, kLeast));
        blend_[i] = std::log(std::max(outlook.probability[places[i]], kLeast));
        probability[i] = weights[0] * model_[i] + weights[1] * blend_[i] + (rank < kBiased ? bias[rank] : 0);
    }
    notices.add(places, probability);
    double largest = -INFINITY, sum = 0;
    for (double score : probability) largest = std::max(largest, score);
    for (double& p : probability) {
        p = std::exp(p - largest);
        sum += p;
    }
    for (double& p : probability) p *= total / sum;
}

void LastWord::learn(const Blend& blend, const Outlook& outlook, const std::vector<uint32_t>& places, double total,
                     std::vector<double>& probability, uint32_t chosen) {
    const auto found = std::find(places.begin(), places.end(), chosen);
    if (found == places.end()) return;
    correct(blend, outlook, places, total, probability);
    const size_t at = size_t(found - places.begin());
    double model_mean = 0, blend_mean = 0;
    double* bias = biases[outlook.pause > kAtOnce];
    const double launch = double(launches[outlook.pause > kAtOnce]++);
    const double rate = std::max(kLeastWordBiasRate, kWordBiasRate / (1 + launch / kWordBiasLaunches));
    for (size_t i = 0; i < places.size(); ++i) {
        const double share = probability[i] / total;
        model_mean += share * model_[i];
        blend_mean += share * blend_[i];
        const uint32_t rank = blend.apps[places[i]].rank;
        if (rank >= kBiased) continue;
        bias[rank] = bounded(bias[rank] + rate * ((i == at) - share), -kMostBias, kMostBias);
    }
    weights[0] = bounded(weights[0] + kWordRate * (model_[at] - model_mean), kLeastWeight, kMostWeight);
    weights[1] = bounded(weights[1] + kWordRate * (blend_[at] - blend_mean), kLeastWeight, kMostWeight);
    notices.learn(places, total, probability, chosen);
}

}  // namespace stap

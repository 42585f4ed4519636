// Notifications: which apps asked to be opened since they last were, and how readily this person follows. One of the
// last word's experts; reference/notices.py is the same in Python, where each number is explained.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "person/blend.h"

namespace stap {

enum NoticeSign : uint32_t { kNoticeYoung, kNoticeRecent, kNoticeOld, kNoticeSince, kNoticeLatest, kNoticeSigns };

constexpr double kNoticeAges[] = {2, 15, 1440};  // minutes; past the last it no longer counts
constexpr double kNoticeStart[kNoticeSigns] = {0.75, 0.25, 0.1, 0.4, 0.2};
constexpr double kNoticeRate = 0.05, kOwnNoticeRate = 0.1;
constexpr double kMostNotice = 3, kMostOwnNotice = 2;

class Notices {
   public:
    struct App {
        std::string name;
        double minutes = 0;  // of its last notification
        bool waits = false;  // it was not opened since
        double weight = 0;   // how much more readily this app's are followed than others'
    };
    std::vector<App> apps;  // kMostApps at most, in the order of their last notifications
    double weights[kNoticeSigns];

    Notices();
    void notify(std::string_view app, double minutes);
    void open(std::string_view app);
    bool forget(std::string_view app);

    // Before `add` and `learn`: who has been notified, as of what is asked.
    void look(const Blend& blend, const Outlook& outlook);
    // Candidates by place, with their scores or, summing to `total`, their probabilities. Nothing where nobody waits.
    void add(const std::vector<uint32_t>& places, std::vector<double>& score) const;
    void learn(const std::vector<uint32_t>& places, double total, const std::vector<double>& probability,
               uint32_t chosen);

   private:
    struct Asking {
        App* app = nullptr;
        bool signs[kNoticeSigns] = {};
    };
    std::vector<App>::iterator find(std::string_view app);

    std::vector<Asking> asking_;  // by place; empty where nobody waits
};

}  // namespace stap

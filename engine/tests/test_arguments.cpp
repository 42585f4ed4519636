// What a caller may get wrong: every pointer null in turn, names and buffers of the wrong length. Nothing changes then.
#include "driver.h"

namespace {

constexpr stap_status kWrong = STAP_ERROR_ARGUMENT;

void no_model_and_no_session_are_noticed() {
    const ModelPointer model = load(tiny::model());
    stap_model* made = nullptr;
    stap_model_info facts;
    stap_session* session = nullptr;
    CHECK(stap_model_load_file("x", STAP_AS_STORED, nullptr, nullptr, 0) == kWrong);
    CHECK(stap_model_load_file("x", -1, &made, nullptr, 0) == kWrong);
    CHECK(stap_model_load_buffer(nullptr, 1, STAP_AS_STORED, &made, nullptr, 0) == kWrong);
    CHECK(stap_model_load_buffer("x", 1, STAP_AS_STORED, nullptr, nullptr, 0) == kWrong);
    CHECK(stap_model_load_buffer("x", 1, STAP_AS_STORED + 1, &made, nullptr, 0) == kWrong);
    char one[1] = {'x'};
    CHECK(stap_model_load_buffer("x", 1, STAP_AS_STORED, &made, one, 0) == STAP_ERROR_FORMAT && one[0] == 'x');
    CHECK(stap_model_get_info(nullptr, &facts) == kWrong && stap_model_get_info(model.get(), nullptr) == kWrong);
    CHECK(stap_model_get_info(model.get(), &facts) == STAP_OK && facts.vocabulary == 12 && facts.context == 16);
    CHECK(stap_session_new(nullptr, nullptr, &session) == kWrong);
    CHECK(stap_session_new(model.get(), nullptr, nullptr) == kWrong);
    CHECK(stap_session_restore(nullptr, STAP_KERNELS_BEST, "x", 1, &session) == kWrong);
    CHECK(stap_session_restore(model.get(), STAP_KERNELS_BEST, nullptr, 1, &session) == kWrong);
    CHECK(stap_session_restore(model.get(), STAP_KERNELS_BEST, "x", 1, nullptr) == kWrong);
    CHECK(made == nullptr && session == nullptr);
    stap_model_free(nullptr);
    stap_session_free(nullptr);
}

void null_pointers_change_nothing() {
    const ModelPointer model = load(tiny::model(tiny::config_with_launches()));
    const SessionPointer owner = open(model.get(), stap_options_default());
    stap_session* s = owner.get();
    for (uint64_t i = 0; i < 20; ++i) observe(s, i);
    const std::vector<uint8_t> before = snapshot(s);
    stap_candidate best[4];
    stap_reason reasons[4];
    stap_session_info info;
    float value = 0;
    uint32_t index = 0;
    size_t count = 0;
    uint8_t byte = 0;
    CHECK(stap_session_observe(nullptr, "a", 1, 1, 0, 0) == kWrong);
    CHECK(stap_session_observe(s, nullptr, 1, 1, 0, 0) == kWrong);
    CHECK(stap_session_notify(nullptr, "a", 1, 0) == kWrong && stap_session_notify(s, nullptr, 1, 0) == kWrong);
    CHECK(stap_session_forget(nullptr, "a", 1) == kWrong && stap_session_forget(s, nullptr, 1) == kWrong);
    CHECK(stap_session_rank(nullptr, 4, best, &count) == kWrong && stap_session_rank(s, 4, best, nullptr) == kWrong);
    CHECK(stap_session_rank(s, 4, nullptr, &count) == kWrong);
    CHECK(stap_session_rank_at(nullptr, 0, 0, 4, best, &count, &value) == kWrong);
    CHECK(stap_session_rank_at(s, 0, 0, 4, nullptr, &count, &value) == kWrong);
    CHECK(stap_session_rank_at(s, 0, 0, 4, best, nullptr, &value) == kWrong);
    CHECK(stap_session_rank_among(nullptr, 0, 0, nullptr, 4, best, &count, &value) == kWrong);
    CHECK(stap_session_rank_among(s, 0, 0, nullptr, 4, nullptr, &count, &value) == kWrong);
    CHECK(stap_session_rank_among(s, 0, 0, nullptr, 4, best, nullptr, &value) == kWrong);
    CHECK(stap_session_why(nullptr, "a", 1, 0, 0, 4, reasons, &count) == kWrong);
    CHECK(stap_session_why(s, nullptr, 1, 0, 0, 4, reasons, &count) == kWrong);
    CHECK(stap_session_why(s, "a", 1, 0, 0, 4, nullptr, &count) == kWrong);
    CHECK(stap_session_why(s, "a", 1, 0, 0, 4, reasons, nullptr) == kWrong);
    CHECK(stap_session_unseen(nullptr, &value) == kWrong && stap_session_unseen(s, nullptr) == kWrong);
    CHECK(stap_session_logits(nullptr, &value, 12) == kWrong && stap_session_logits(s, nullptr, 12) == kWrong);
    CHECK(stap_session_index(nullptr, "a", 1, &index) == kWrong && stap_session_index(s, nullptr, 1, &index) == kWrong);
    CHECK(stap_session_index(s, "a", 1, nullptr) == kWrong);
    CHECK(stap_session_catch_up(nullptr, 1, &count) == kWrong);
    CHECK(stap_session_get_info(nullptr, &info) == kWrong && stap_session_get_info(s, nullptr) == kWrong);
    CHECK(stap_session_snapshot(nullptr, &byte, 1, &count) == kWrong);
    CHECK(stap_session_snapshot(s, nullptr, 1, &count) == kWrong &&
          stap_session_snapshot(s, &byte, 1, nullptr) == kWrong);
    CHECK(stap_steady(nullptr, 1, nullptr, 0, nullptr) == kWrong &&
          stap_steady(nullptr, 0, best, 1, nullptr) == kWrong);
    CHECK(snapshot(s) == before);
}

void names_and_times_out_of_range_change_nothing() {
    const ModelPointer model = load(tiny::model(tiny::config_with_launches()));
    const SessionPointer owner = open(model.get(), stap_options_default());
    stap_session* s = owner.get();
    for (uint64_t i = 0; i < 20; ++i) observe(s, i);
    const std::vector<uint8_t> before = snapshot(s);
    const std::string lengthy(STAP_MOST_APP_BYTES + 1, 'x');
    stap_candidate best[4];
    stap_reason reasons[4];
    uint32_t index = 0;
    size_t count = 0;
    CHECK(stap_session_notify(s, lengthy.data(), lengthy.size(), 0) == STAP_ERROR_APP);
    CHECK(stap_session_forget(s, lengthy.data(), lengthy.size()) == STAP_ERROR_APP);
    CHECK(stap_session_forget(s, "nobody", 6) == STAP_ERROR_APP && stap_session_forget(s, "", 0) == STAP_ERROR_APP);
    CHECK(stap_session_index(s, lengthy.data(), lengthy.size(), &index) == STAP_ERROR_APP);
    CHECK(stap_session_index(s, "nobody", 6, &index) == STAP_ERROR_APP);
    CHECK(stap_session_why(s, "nobody", 6, 0, 0, 4, reasons, &count) == STAP_ERROR_APP);
    CHECK(stap_session_why(s, "app1", 4, 0, 24, 4, reasons, &count) == STAP_ERROR_TIME);
    CHECK(stap_session_rank_at(s, 0, -1, 4, best, &count, nullptr) == STAP_ERROR_TIME);
    CHECK(stap_session_rank_at(s, 2 * STAP_MOST_MINUTES, 0, 4, best, &count, nullptr) == STAP_ERROR_TIME);
    CHECK(stap_session_rank_among(s, 0, 24, nullptr, 4, best, &count, nullptr) == STAP_ERROR_TIME);
    CHECK(snapshot(s) == before);
    CHECK(stap_session_restore(model.get(), 17, before.data(), before.size(), &s) == STAP_ERROR_KERNEL);
    CHECK(stap_session_restore(model.get(), STAP_KERNELS_SCALAR, before.data(), before.size(), &s) == STAP_OK);
    const SessionPointer scalar(s);
    stap_session_info info;
    CHECK(stap_session_get_info(s, &info) == STAP_OK && info.kernels == std::string("scalar"));
}

void every_status_has_words() {
    for (int status = STAP_OK; status <= STAP_ERROR_BUSY + 1; ++status)
        CHECK(std::strlen(stap_error_string(stap_status(status))) > 5);
    CHECK_EQUAL(stap_error_string(STAP_ERROR_INTERNAL), "an error inside the engine");
    CHECK_EQUAL(stap_version(), std::to_string(STAP_VERSION_MAJOR) + "." + std::to_string(STAP_VERSION_MINOR) + "." +
                                    std::to_string(STAP_VERSION_PATCH));
}

}  // namespace

int main() {
    no_model_and_no_session_are_noticed();
    null_pointers_change_nothing();
    names_and_times_out_of_range_change_nothing();
    every_status_has_words();
    return failures != 0;
}

// Any bytes as a model file: refused with a message, or loaded and able to predict.
#include <cstdlib>
#include <cstring>

#include "stap.h"
#include "tiny.h"

namespace {

void use(stap_model* model) {
    stap_session* session = nullptr;
    stap_options options = stap_options_default();
    options.context = 4;
    if (stap_session_new(model, &options, &session) == STAP_OK) {
        for (int i = 0; i < 6; ++i) stap_session_observe(session, i % 3 ? "a" : "b", 1, i % 2, i * 10.0, i);
        stap_candidate best[4];
        size_t count = 0;
        const stap_status status = stap_session_rank(session, 4, best, &count);
        if (status != STAP_OK && status != STAP_ERROR_NUMBER) std::abort();
        float unseen = 0;
        if (stap_session_unseen(session, &unseen) == STAP_OK && !(unseen >= 0 && unseen <= 1)) std::abort();
        stap_session_free(session);
    }
    stap_model_free(model);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    char message[256] = "";
    stap_model* model = nullptr;
    // Half of the inputs: only the header is the fuzzer's, its length and the tensors' bytes are made to fit.
    static const std::string sounds[] = {tiny::model(), tiny::model(tiny::config_with_evidence())};
    std::string file;
    if (size > 0 && data[0] & 1) {
        file = tiny::with_length(std::string(reinterpret_cast<const char*>(data + 1), size - 1));
        const std::string& sound = sounds[data[0] >> 1 & 1];
        uint64_t header = 0;
        std::memcpy(&header, sound.data(), 8);
        file += sound.substr(8 + header);
    } else if (size > 0) {
        file.assign(reinterpret_cast<const char*>(data + 1), size - 1);
    }
    const stap_status status = stap_model_load_buffer(
        file.data(), file.size(), size > 1 ? data[size / 2] % 4 : STAP_AS_STORED, &model, message, sizeof message);
    if (status == STAP_OK) {
        use(model);
    } else if (message[0] == '\0' || model != nullptr || status == STAP_ERROR_INTERNAL) {
        std::abort();
    }
    return 0;
}

// Hashes in a model file: right ones pass, and a flipped bit anywhere is refused or changes nothing.
#include "driver.h"
#include "files/sha256.h"

namespace {

std::string sha256(const std::string& text, size_t step = SIZE_MAX) {
    stap::Sha256 hash;
    for (size_t at = 0; at < text.size(); at += std::min(step, text.size() - at))
        hash.add(text.data() + at, std::min(step, text.size() - at));
    return hash.hex();
}

// From FIPS 180-4's examples; lengths around a block's end by sha256sum.
void hashes_are_those_of_the_standard() {
    CHECK_EQUAL(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    CHECK_EQUAL(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CHECK_EQUAL(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    const std::string million(1000000, 'a');
    for (size_t step : {size_t(1), size_t(63), size_t(64), size_t(1000), SIZE_MAX})
        CHECK_EQUAL(sha256(million, step), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    CHECK_EQUAL(sha256(std::string(55, 'a')), "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
    CHECK_EQUAL(sha256(std::string(56, 'a')), "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a");
    CHECK_EQUAL(sha256(std::string(64, 'a')), "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
}

// A tiny model with both hashes, or what stands in their place.
std::string sealed(std::string tensors, std::string texts) {
    const tiny::Config config = {2, 4, 4, 1, 1, 2};
    std::string data;
    for (const tiny::Tensor& tensor : tiny::tensors(config, "F16")) data += tensor.bytes;
    if (tensors.empty()) tensors = sha256(data);
    const std::string text = tiny::config_text(config), nul(1, '\0');
    if (texts.empty())
        texts =
            sha256("config" + nul + text + nul + "format" + nul + "stap-model" + nul + "sha256" + nul + tensors + nul);
    const std::string plain = tiny::metadata(text), end = "}";
    return tiny::file(tiny::tensors(config, "F16"), plain.substr(0, plain.size() - end.size()) +
                                                        ", \"sha256\": " + tiny::quote(tensors) +
                                                        ", \"texts_sha256\": " + tiny::quote(texts) + end);
}

stap_status status_of(const std::string& file, std::vector<uint8_t>* state = nullptr) {
    stap_model* made = nullptr;
    char message[200] = "";
    const stap_status status =
        stap_model_load_buffer(file.data(), file.size(), STAP_AS_STORED, &made, message, sizeof message);
    const ModelPointer model(made);
    if (made && state) *state = snapshot(open(made, stap_options_default()).get());  // with the model's fingerprint
    return status;
}

void wrong_hashes_are_refused() {
    CHECK(status_of(sealed("", "")) == STAP_OK);
    const std::string wrong(64, '0');
    for (const std::string& file : {sealed(wrong, ""), sealed("", wrong), sealed("x", ""), sealed("", "x")}) {
        char message[200] = "";
        stap_model* made = nullptr;
        CHECK(stap_model_load_buffer(file.data(), file.size(), STAP_AS_STORED, &made, message, sizeof message) ==
              STAP_ERROR_FORMAT);
        CHECK_EQUAL(message, "damaged: not what was written (its hash differs)");
    }
}

void a_flipped_bit_is_refused_or_changes_nothing() {
    const std::string whole = sealed("", "");
    std::vector<uint8_t> wanted;
    CHECK(status_of(whole, &wanted) == STAP_OK);
    size_t refused = 0;
    for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
        std::string flipped = whole;
        flipped[bit / 8] = char(flipped[bit / 8] ^ 1 << bit % 8);
        std::vector<uint8_t> found;
        const stap_status status = status_of(flipped, &found);
        refused += status != STAP_OK;
        CHECK(status != STAP_OK || found == wanted);
    }
    CHECK(refused > 8 * whole.size() - 200);  // a blank in the header may become another
}

}  // namespace

int main() {
    hashes_are_those_of_the_standard();
    wrong_hashes_are_refused();
    a_flipped_bit_is_refused_or_changes_nothing();
    return failures != 0;
}

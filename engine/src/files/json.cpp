#include "files/json.h"

#include <algorithm>
#include <charconv>

#include "failure.h"

namespace stap {
namespace {

constexpr int kDeepest = 16;
constexpr size_t kMostValues = 1u << 16;  // of any kind, in all: a value takes more memory than text

struct Reader {
    std::string_view text;
    const std::string& where;
    size_t at = 0, values = 0;

    [[noreturn]] void bad(const std::string& why) const {
        fail(STAP_ERROR_FORMAT, where + ": " + why + " at byte " + std::to_string(at));
    }

    char peek() const { return at < text.size() ? text[at] : '\0'; }

    void skip_space() {
        while (at < text.size() && (text[at] == ' ' || text[at] == '\n' || text[at] == '\r' || text[at] == '\t')) ++at;
    }

    void expect(char c) {
        skip_space();
        if (at >= text.size()) bad("JSON ends too soon");
        if (text[at] != c) bad(std::string("JSON where '") + c + "' should stand");
        ++at;
    }

    bool take_word(std::string_view word) {
        if (text.substr(at, word.size()) != word) return false;
        at += word.size();
        return true;
    }

    Json read(int depth) {
        if (depth > kDeepest) bad("JSON nested too deeply");
        if (++values > kMostValues) bad("JSON of more than 65536 values");
        skip_space();
        if (at >= text.size()) bad("JSON ends too soon");
        Json value;
        const char c = text[at];
        if (c == '{') {
            read_object(value, depth);
        } else if (c == '[') {
            read_array(value, depth);
        } else if (c == '"') {
            value.kind = Json::kString;
            value.text = read_string();
        } else if (c == '-' || (c >= '0' && c <= '9')) {
            read_number(value);
        } else if (take_word("true")) {
            value.kind = Json::kBool;
            value.flag = true;
        } else if (take_word("false")) {
            value.kind = Json::kBool;
        } else if (!take_word("null")) {
            bad("no JSON value");
        }
        return value;
    }

    // What stands between two brackets, the first of which was seen, with commas in between.
    template <typename Item>
    void read_list(char close, Item read_item) {
        ++at;
        skip_space();
        if (peek() == close) {
            ++at;
            return;
        }
        for (;;) {
            read_item();
            skip_space();
            if (peek() != ',') break;
            ++at;
        }
        expect(close);
    }

    void read_object(Json& value, int depth) {
        value.kind = Json::kObject;
        read_list('}', [&] {
            skip_space();
            if (peek() != '"') bad("JSON object without a key");
            std::string key = read_string();
            expect(':');
            Json member = read(depth + 1);
            value.members.emplace_back(std::move(key), std::move(member));
        });
        refuse_twins(value);
    }

    // By sorting: no choice of keys makes it slow, as it would a hash.
    void refuse_twins(const Json& object) const {
        std::vector<std::string_view> keys;
        keys.reserve(object.members.size());
        for (const auto& member : object.members) keys.push_back(member.first);
        std::sort(keys.begin(), keys.end());
        const auto twin = std::adjacent_find(keys.begin(), keys.end());
        if (twin != keys.end()) bad("JSON key \"" + std::string(twin->substr(0, 80)) + "\" twice");
    }

    void read_array(Json& value, int depth) {
        value.kind = Json::kArray;
        read_list(']', [&] { value.items.push_back(read(depth + 1)); });
    }

    void read_number(Json& value) {
        const size_t begin = at;
        auto digits = [&] {
            const size_t first = at;
            while (peek() >= '0' && peek() <= '9') ++at;
            if (at == first) bad("a broken JSON number");
        };
        if (peek() == '-') ++at;
        if (peek() == '0' && at + 1 < text.size() && text[at + 1] >= '0' && text[at + 1] <= '9')
            bad("a JSON number with a leading zero");
        digits();
        if (peek() == '.') {
            ++at;
            digits();
        }
        if (peek() == 'e' || peek() == 'E') {
            ++at;
            if (peek() == '+' || peek() == '-') ++at;
            digits();
        }
        value.kind = Json::kNumber;
        value.text = std::string(text.substr(begin, at - begin));
        if (value.text.size() > 64) bad("a JSON number of more than 64 digits");
    }

    std::string read_string() {
        std::string out;
        ++at;
        for (;;) {
            if (at >= text.size()) bad("a JSON string without an end");
            const unsigned char c = static_cast<unsigned char>(text[at]);
            if (c == '"') break;
            if (c < 0x20) bad("a control character in a JSON string");
            if (c == '\\') {
                read_escape(out);
            } else if (c < 0x80) {
                out.push_back(text[at++]);
            } else {
                read_utf8(out);
            }
        }
        ++at;
        return out;
    }

    void read_escape(std::string& out) {
        constexpr std::string_view kWritten = "\"\\/bfnrt", kMeant = "\"\\/\b\f\n\r\t";
        ++at;
        const char c = peek();
        const size_t place = kWritten.find(c);
        if (place == kWritten.npos && c != 'u') bad("an unknown JSON escape");
        ++at;
        if (c == 'u') {
            read_unicode(out);
        } else {
            out.push_back(kMeant[place]);
        }
    }

    uint32_t read_hex4() {
        uint32_t value = 0;
        const char* begin = text.data() + at;
        if (text.size() - at < 4 || std::from_chars(begin, begin + 4, value, 16).ptr != begin + 4)
            bad("a broken \\u escape");
        at += 4;
        return value;
    }

    void read_unicode(std::string& out) {
        uint32_t code = read_hex4();
        if (code >= 0xdc00 && code < 0xe000) bad("half a surrogate pair");
        if (code >= 0xd800 && code < 0xdc00) {
            if (!take_word("\\u")) bad("half a surrogate pair");
            const uint32_t low = read_hex4();
            if (low < 0xdc00 || low >= 0xe000) bad("half a surrogate pair");
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        }
        constexpr uint32_t kLead[] = {0, 0xc0, 0xe0, 0xf0};
        const int tails = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
        out.push_back(char(kLead[tails] | code >> 6 * tails));
        for (int i = tails - 1; i >= 0; --i) out.push_back(char(0x80 | (code >> 6 * i & 0x3f)));
    }

    void read_utf8(std::string& out) {
        const unsigned char lead = static_cast<unsigned char>(text[at]);
        const int tails = lead < 0xc2 || lead > 0xf4 ? 0 : lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
        if (tails == 0) bad("a JSON string that is not UTF-8");
        out.push_back(text[at++]);
        // Nothing longer than it need be, no half of a surrogate pair, nothing beyond U+10FFFF.
        unsigned char least = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
        unsigned char most = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
        for (int i = 0; i < tails; ++i, ++at) {
            const auto byte = static_cast<unsigned char>(peek());
            if (byte < least || byte > most) bad("a JSON string that is not UTF-8");
            out.push_back(text[at]);
            least = 0x80;
            most = 0xbf;
        }
    }
};

}  // namespace

const Json* Json::find(std::string_view key) const {
    for (const auto& member : members)
        if (member.first == key) return &member.second;
    return nullptr;
}

bool Json::is_whole() const {
    if (kind != kNumber || text.size() > 16) return false;
    for (char c : text)
        if (c < '0' || c > '9') return false;
    return whole() < (uint64_t(1) << 53);
}

uint64_t Json::whole() const {
    uint64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

double Json::number() const {  // from_chars knows no locale: a decimal comma in the host program changes nothing
    double value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

Json json_parse(std::string_view text, const std::string& where) {
    Reader reader{text, where};
    Json value = reader.read(0);
    reader.skip_space();
    if (reader.at != text.size()) reader.bad("text after the JSON");
    return value;
}

}  // namespace stap

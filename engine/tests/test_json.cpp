// The reader of headers: what JSON may be written like, and what is not JSON.
#include "files/json.h"

#include "check.h"
#include "failure.h"

namespace {

std::string text_of(const std::string& json) { return stap::json_parse(json, "here").text; }

std::string refusal(const std::string& json) {
    try {
        stap::json_parse(json, "here");
        return "none";
    } catch (const stap::Failure& failure) {
        CHECK(failure.status == STAP_ERROR_FORMAT);
        return failure.message;
    }
}

void texts_are_read_as_they_are_meant() {
    CHECK_EQUAL(text_of("\"a\\\"\\\\\\/\\b\\f\\n\\r\\tz\""), "a\"\\/\b\f\n\r\tz");
    CHECK_EQUAL(text_of("\"\\u0041\\u00e9\\u20ac\\ud83d\\ude00\""), "A\u00e9\u20ac\U0001F600");
    CHECK_EQUAL(text_of("\"\u00e9\u20ac\U0001F600\""), "\u00e9\u20ac\U0001F600");
    for (const char* edge : {"\u0080", "\u0800", "\ud7ff", "\ue000", "\uffff", "\U00010000", "\U0010ffff"})
        CHECK_EQUAL(text_of(std::string("\"") + edge + "\""), edge);
    CHECK_EQUAL(text_of(" \n\r\t\"a\"\t\r\n "), "a");
    CHECK_EQUAL(text_of("\"\\ud7ff\\ue000\""), "\uD7FF\uE000");
}

void numbers_are_read_as_they_are_written() {
    for (const char* number : {"0", "-1", "12.5", "1e3", "1E+3", "25e-1", "-0.5"}) CHECK_EQUAL(text_of(number), number);
    CHECK(stap::json_parse("1E+3", "").number() == 1000 && stap::json_parse("25e-1", "").number() == 2.5);
    CHECK(stap::json_parse("9007199254740991", "").is_whole() && !stap::json_parse("9007199254740992", "").is_whole());
    for (const char* none : {"-1", "1.0", "1e3", "12345678901234567", "\"1\"", "true"})
        CHECK(!stap::json_parse(none, "").is_whole());
}

void other_values_have_their_kinds() {
    CHECK(stap::json_parse("true", "").flag && !stap::json_parse("false", "").flag);
    CHECK(stap::json_parse("null", "").kind == stap::Json::kNull);
    const stap::Json list = stap::json_parse("[1, [], {}, {\"a\": 2}]", "");
    CHECK(list.items.size() == 4 && list.items[3].find("a")->text == "2" && !list.items[3].find("b"));
}

void what_is_no_json_is_refused() {
    struct Case {
        const char *json, *wanted;
    };
    for (const Case& one : {Case{"", "JSON ends too soon at byte 0"},
                            {"{", "JSON object without a key at byte 1"},
                            {"[1", "JSON ends too soon at byte 2"},
                            {"nul", "no JSON value at byte 0"},
                            {"1 2", "text after the JSON at byte 2"},
                            {"{\"a\" 1}", "JSON where ':' should stand at byte 5"},
                            {"{\"a\": 1, \"a\": 2}", "JSON key \"a\" twice at byte 16"},
                            {"01", "a JSON number with a leading zero at byte 0"},
                            {"-", "a broken JSON number at byte 1"},
                            {"1.", "a broken JSON number at byte 2"},
                            {"1e-", "a broken JSON number at byte 3"},
                            {"\"", "a JSON string without an end at byte 1"},
                            {"\"\n\"", "a control character in a JSON string at byte 1"},
                            {"\"\\x\"", "an unknown JSON escape at byte 2"},
                            {"\"\\", "an unknown JSON escape at byte 2"},
                            {"\"\\u12\"", "a broken \\u escape at byte 3"},
                            {"\"\\u00g0\"", "a broken \\u escape at byte 3"},
                            {"\"\\udc00\"", "half a surrogate pair at byte 7"},
                            {"\"\\ud800\"", "half a surrogate pair at byte 7"},
                            {"\"\\ud800\\u0041\"", "half a surrogate pair at byte 13"},
                            {"\"\\ud800\\ue000\"", "half a surrogate pair at byte 13"},
                            {"\"\xff\"", "a JSON string that is not UTF-8 at byte 1"},
                            {"\"\x80\"", "a JSON string that is not UTF-8 at byte 1"},
                            {"\"\xe0\x9f\xbf\"", "a JSON string that is not UTF-8 at byte 2"},
                            {"\"\xf0\x8f\xbf\xbf\"", "a JSON string that is not UTF-8 at byte 2"},
                            {"\"\xed\xa0\x80\"", "a JSON string that is not UTF-8 at byte 2"},
                            {"\"\xf4\x90\x80\x80\"", "a JSON string that is not UTF-8 at byte 2"},
                            {"\"\xe2\x82\"", "a JSON string that is not UTF-8 at byte 3"},
                            {"\"\xf0\x9f", "a JSON string that is not UTF-8 at byte 3"}})
        CHECK_EQUAL(refusal(one.json), std::string("here: ") + one.wanted);
    CHECK_EQUAL(refusal(std::string(65, '1')), "here: a JSON number of more than 64 digits at byte 65");
    CHECK_EQUAL(refusal(std::string(100, '[')), "here: JSON nested too deeply at byte 17");
}

}  // namespace

int main() {
    texts_are_read_as_they_are_meant();
    numbers_are_read_as_they_are_written();
    other_values_have_their_kinds();
    what_is_no_json_is_refused();
    return failures != 0;
}

#include <catch2/catch.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "text/json.hpp"

using namespace rpcroute::text;

namespace {

std::vector<std::string> sources(const auto& children) {
  std::vector<std::string> all;
  for (const auto& child : children) {
    if constexpr (requires { child.value; }) {
      all.push_back(std::string(child.name) + "=" + std::string(child.value.source()));
    } else {
      all.emplace_back(child.source());
    }
  }
  return all;
}

std::string problem(std::string_view json) {
  return JsonTree(json).problem();
}

}  // namespace

TEST_CASE("Every value of a tree is a slice of the text, whatever blanks and escapes surround it") {
  const std::string json = " { \"a\\u0062\" :\t1 , \"c\" : [ [ ] , { \"x\":[1 ] } , \"]\" ] , \"\":\"\\\\\" }\r\n";
  const JsonTree tree(json);
  const Json root = tree.root();
  CHECK(root.source() == json.substr(1, json.size() - 3));
  CHECK(sources(root.members()) == std::vector<std::string>{"ab=1", R"(c=[ [ ] , { "x":[1 ] } , "]" ])", R"(="\\")"});
  CHECK(sources(root["c"].elements()) == std::vector<std::string>{"[ ]", R"({ "x":[1 ] })", R"("]")"});
  CHECK(root["ab"].type() == JsonType::number);
  CHECK(root[""].text() == "\\");
  CHECK(JsonTree("[ ]").root().elements().empty());
  CHECK(JsonTree("{}").root().members().empty());
}

TEST_CASE("A text is decoded, and its source is not") {
  const JsonTree tree(R"(["\u00e9\ud83d\ude00\/\n","plain",""])");
  std::vector<std::string> texts;
  for (const Json element : tree.root().elements()) texts.emplace_back(element.text());
  CHECK(texts == std::vector<std::string>{"\xC3\xA9\xF0\x9F\x98\x80/\n", "plain", ""});
  CHECK(sources(tree.root().elements())[0] == R"("\u00e9\ud83d\ude00\/\n")");
}

TEST_CASE("Of duplicate members the last is found, and what is not there is absent all the way down") {
  const JsonTree tree(R"({"a":1,"b":{"c":null},"a":2})");
  const Json root = tree.root();
  CHECK(root["a"].integer() == 2);
  CHECK(root["b"]["c"].is_null());
  CHECK_FALSE(root["b"]["c"].is_given());
  CHECK(root["b"]["d"]["e"].type() == JsonType::absent);
  CHECK(root["a"]["d"].source().empty());
  CHECK(root["a"].elements().empty());
  CHECK(root["a"].text().empty());
}

TEST_CASE("Numbers of any size are kept as they were written, and read only into what holds them") {
  const std::string json = "[18446744073709551615,-1,1.0,1e999,1e-999999999," + std::string(100000, '9') + "]";
  const JsonTree tree(json);
  std::vector<Json> numbers;
  for (const Json element : tree.root().elements()) numbers.push_back(element);
  REQUIRE(numbers.size() == 6);
  CHECK(numbers[0].unsigned_integer() == 18446744073709551615U);
  CHECK(numbers[0].integer() == std::nullopt);
  CHECK(numbers[1].integer() == -1);
  CHECK(numbers[1].unsigned_integer() == std::nullopt);
  CHECK(numbers[2].integer() == std::nullopt);
  CHECK(numbers[2].real() == 1.0);
  CHECK(numbers[3].source() == "1e999");
  CHECK(numbers[3].real() == std::nullopt);
  CHECK(numbers[5].source().size() == 100000);
}

TEST_CASE("What is no JSON has no root and says why and where") {
  for (const std::string_view json :
       {"",         " ",   "{",          "[1,]",       "[,1]",    "{,}", "{\"a\"}",    "{\"a\":}",
        "nul",      "-",   "01",         "1.",         "1e",      "+1",  "[1 2]",      "{} x",
        "\"a\nb\"", "'a'", "[1e999,01]", "[1e999,1.]", "\"\\x\"", "NaN", "[Infinity]", "/**/1"}) {
    INFO(json);
    CHECK_FALSE(problem(json).empty());
    CHECK(JsonTree(json).root().type() == JsonType::absent);
  }
  CHECK(problem(std::string_view("1\0x", 3)) == "it holds a NUL character");
  CHECK(problem("\"\xC3\x28\"") == "it is no valid UTF-8");
  CHECK(JsonTree("\"ab\xFF\"").problem_position() == 4);
  CHECK_FALSE(problem(R"("\ud800")").empty());
  CHECK_FALSE(problem(R"("\udc00")").empty());
  CHECK_FALSE(problem(R"("\ud800\ud800")").empty());
  CHECK(JsonTree("[1,\n x]").problem_position() == 6);
}

TEST_CASE("Nesting is read up to its bound, and refused beyond it before it costs anything") {
  const auto nested = [](std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); };
  CHECK(problem(nested(max_json_depth)).empty());
  CHECK(problem(nested(max_json_depth + 1)) == "it is nested too deeply");
  CHECK(problem(std::string(1'000'000, '[')) == "it is nested too deeply");
}

TEST_CASE("Reading stays within its budget, and its pulse is felt inside a single text too") {
  struct Stop {};
  Budget few({.cells = 3});
  CHECK_THROWS_AS(JsonTree("[1,2,3]", few), OverBudget);
  for (const std::string& json : {"\"" + std::string(4 << 20, 'x') + "\"", "[0" + std::string(4 << 20, ' ') + "]"}) {
    Budget stopped([] { throw Stop(); });
    CHECK_THROWS_AS(JsonTree(json, stopped), Stop);
  }
}

TEST_CASE("A literal is the text again") {
  for (const std::string& text :
       {std::string(), std::string("a\"b\\c/\n\x01\x7f"), std::string("é😀"), std::string(1, '\0')}) {
    const std::string literal = json_literal(text);
    CHECK(JsonTree(literal).root().text() == text);
  }
}

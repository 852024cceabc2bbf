#include <catch2/catch.hpp>
#include <string>

#include "text/json_diff.hpp"

using namespace rpcroute::text;

namespace {

std::string differences(std::string_view a, std::string_view b, std::size_t max_bytes = 1000) {
  const JsonTree left(a);
  const JsonTree right(b);
  Budget budget;
  return json_differences(left.root(), right.root(), max_bytes, budget);
}

}  // namespace

TEST_CASE("Values that differ are named by SQLite's paths, and what only one side has by its own") {
  CHECK(differences(R"({"a":[1,2,{"b c":1}],"x":1})", R"({"a":[1,3,{"b c":2},4],"y":1})") ==
        R"(["$.a[1]","$.a[2].\"b c\"","$.a[3]","$.x","$.y"])");
  CHECK(differences("1", "\"1\"") == R"(["$"])");
  CHECK(differences("{}", "[]") == R"(["$"])");
  CHECK(differences(R"({"a":{"b":[]}})", R"({"a":{"b":[]}})") == "[]");
  CHECK(differences("[[],1]", "[]") == R"(["$[0]","$[1]"])");
}

TEST_CASE("Paths that would fill the memory are refused") {
  const std::string name(500, 'n');
  CHECK_THROWS_AS(differences("{\"" + name + "\":[0,0,0]}", "{\"" + name + "\":[1,1,1]}"), OverBudget);
}

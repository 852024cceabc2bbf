#include <catch2/catch.hpp>
#include <string_view>
#include <vector>

#include "text/json.hpp"

using namespace rpcroute::text;

TEST_CASE("Slices of JSON are found whatever blanks and escapes surround them") {
  const auto members = json_members(" { \"a\\u0062\" :\t1 , \"c\" : [ 1 , 2 ] , \"\":\"\\\\\" } ");
  REQUIRE(members.size() == 3);
  CHECK(members[0].name == "ab");
  CHECK(members[0].value == "1");
  CHECK(members[1].value == "[ 1 , 2 ]");
  CHECK(json_text(members[2].value) == "\\");
  CHECK(json_members("{}").empty());
  CHECK(json_elements("[ ]").empty());
  CHECK(json_elements(R"([1, {"a":2} ,"x,]"])") == std::vector<std::string_view>{"1", R"({"a":2})", R"("x,]")"});
}

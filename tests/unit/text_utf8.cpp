#include <catch2/catch.hpp>
#include <string>

#include "text/utf8.hpp"

using namespace rpcroute::text;

TEST_CASE("A message is one line of at most 200 characters of valid UTF-8") {
  CHECK(printable("a\x1b[31m\r\nb\tc  d\x7f") == "a [31m b c d");
  CHECK(printable("\xC3\x28\xFF") == "\xEF\xBF\xBD(\xEF\xBF\xBD");
  CHECK(printable(std::string(200, 'x')) == std::string(200, 'x'));
  CHECK(printable(std::string(201, 'x')) == std::string(199, 'x') + "…");
}

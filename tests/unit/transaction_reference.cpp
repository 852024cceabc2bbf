#include <catch2/catch.hpp>

#include "schema.hpp"
#include "transaction/reference.hpp"

using namespace rpcroute::transaction;

namespace {

const std::string hash = "0x" + std::string(64, 'a');

std::vector<Reference> with(const std::string& member) {
  return parse_references(R"([{"provider_id":"a","tx_hash":")" + hash + "\"" + member + "}]");
}

}  // namespace

TEST_CASE("A key of a transaction that is no column is refused: without its bytes it could only be lost") {
  CHECK_THROWS_WITH(with(R"(,"raww":"0x02")"),
                    Catch::StartsWith("transactions[0] has unknown key 'raww'; known are raw, "));
  CHECK_THROWS_WITH(with(R"(,"timestmp":1.5)"),
                    Catch::StartsWith("transactions[0] has unknown key 'timestmp'; known are timestamp, "));
  CHECK_THROWS_WITH(with(R"(,"raw":"0x02","raw":"0x03")"), "transactions[0] has key 'raw' twice");
}

TEST_CASE("Whole rows of tx_outcomes name their transactions") {
  for (const std::string& column : rpcroute::tests::columns_of("tx_outcomes")) {
    INFO(column);
    if (column != "provider_id" && column != "tx_hash") CHECK(with(",\"" + column + "\":null").size() == 1);
  }
}

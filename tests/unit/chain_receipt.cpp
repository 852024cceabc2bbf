#include <catch2/catch.hpp>
#include <fstream>

#include "chain/receipt.hpp"

using namespace rpcroute::chain;

namespace {

const std::string hash_a = "0x" + std::string(64, 'a');
const std::string hash_b = "0x" + std::string(64, 'b');

std::string receipt_with(const std::string& more) {
  return R"({"transactionHash":")" + hash_a + R"(","blockHash":")" + hash_b + R"(","blockNumber":"0x10")" + more + "}";
}

}  // namespace

TEST_CASE("a receipt gives block, status, gas and price, whatever else it carries") {
  const auto receipt = read_receipt(
      receipt_with(
          R"(,"status":"0x1","gasUsed":"0x5208","effectiveGasPrice":"0x3b9aca07","blockTimestamp":5,"logs":[])"),
      hash_a);
  REQUIRE(receipt);
  CHECK(receipt->block_number == 16);
  CHECK(receipt->block_hash == hash_b);
  CHECK(receipt->succeeded == true);
  CHECK(receipt->gas_used == 21000);
  CHECK(receipt->effective_gas_price == 1'000'000'007);
  CHECK(read_receipt(receipt_with(R"(,"status":"0x0")"), hash_a)->succeeded == false);
  CHECK_FALSE(read_receipt(receipt_with(""), hash_a)->succeeded);
}

TEST_CASE("no receipt is not an error: the transaction waits, or the node is behind") {
  CHECK_FALSE(read_receipt("null", hash_a));
}

TEST_CASE("a receipt of another transaction or without its block is no receipt") {
  CHECK_THROWS_AS(read_receipt(receipt_with(""), hash_b), Misread);
  CHECK_THROWS_AS(read_receipt(receipt_with(R"(,"status":"0x2")"), hash_a), Misread);
  for (const char* text : {"{}", "[]", "true", "\"0x1\"", "7", "{", ""}) {
    CAPTURE(text);
    CHECK_THROWS_AS(read_receipt(text, hash_a), Misread);
  }
  CHECK_THROWS_AS(
      read_receipt(R"({"transactionHash":")" + hash_a + R"(","blockHash":null,"blockNumber":null})", hash_a), Misread);
}

TEST_CASE("a block gives number, time, base fee and, when asked for, its transactions") {
  const auto block =
      read_block(R"({"number":"0x2","timestamp":"0x65","baseFeePerGas":"0x7","transactions":[{"hash":")" + hash_a +
                 R"(","from":"0xF39fd6e51aad88f6f4ce6ab8827279cfffb92266","to":null,)" +
                 R"("nonce":"0x0000000000000003","value":"0x0"}]})");
  REQUIRE(block);
  CHECK(block->number == 2);
  CHECK(block->timestamp == 101);
  CHECK(block->base_fee_per_gas == 7);
  REQUIRE(block->transactions.size() == 1);
  CHECK(block->transactions[0].nonce == 3);
  CHECK(block->transactions[0].from == "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266");
  CHECK(read_block(R"({"number":null,"transactions":[")" + hash_a + R"("]})")->transactions.empty());
  CHECK_FALSE(read_block("null"));
  CHECK_THROWS_AS(read_block(R"({"number":"latest"})"), Misread);
}

TEST_CASE("a node knows a transaction only when it answers with that very transaction") {
  CHECK(knows_transaction(R"({"hash":")" + hash_a + R"(","blockHash":null})", hash_a));
  CHECK_FALSE(knows_transaction("null", hash_a));
  CHECK_THROWS_AS(knows_transaction(R"({"hash":")" + hash_b + R"("})", hash_a), Misread);
}

TEST_CASE("plain results are what they should be or misread") {
  CHECK(read_quantity_result("\"0x7\"") == 7);
  CHECK(read_quantity256_result("\"0x10000000000000000\"").minimal().size() == 9);
  for (const char* text : {"7", "null", "\"0x\"", "\"\"", "{}"}) CHECK_THROWS_AS(read_quantity_result(text), Misread);
  CHECK(read_hash_result("\"" + hash_a + "\"") == hash_a);
  CHECK_THROWS_AS(read_hash_result("\"0x1\""), Misread);
  CHECK(read_first_account(R"(["0xF39Fd6e51aad88F6F4ce6aB8827279cffFb92266","x"])") ==
        "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266");
  CHECK_FALSE(read_first_account("[]"));
  CHECK_THROWS_AS(read_first_account("{}"), Misread);
}

TEST_CASE("deep nesting from a hostile node does not exhaust the stack") {
  CHECK_THROWS_AS(read_receipt(std::string(1'000'000, '['), hash_a), Misread);
}

TEST_CASE("real nodes' receipts are read where the published answers are at hand") {
  std::ifstream file(RPCROUTE_SOURCE_DIR "/../shared/data/rpc-compat/eth_getTransactionReceipt/get-dynamic-fee.io");
  if (!file) return;
  std::string line;
  bool seen = false;
  while (std::getline(file, line)) {
    const auto start = line.find("\"result\":");
    if (!line.starts_with("<< ") || start == std::string::npos) continue;
    const std::string json = line.substr(start + 9, line.rfind('}') - start - 9);
    const auto at = json.find("\"transactionHash\":\"");
    REQUIRE(at != std::string::npos);
    CHECK(read_receipt(json, json.substr(at + 19, 66)));
    seen = true;
  }
  CHECK(seen);
}

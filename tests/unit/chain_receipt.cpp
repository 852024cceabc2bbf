#include <catch2/catch.hpp>
#include <fstream>
#include <limits>

#include "chain/receipt.hpp"

using namespace rpcroute::chain;

namespace {

const std::string hash_a = "0x" + std::string(64, 'a');
const std::string hash_b = "0x" + std::string(64, 'b');

std::string receipt_with(const std::string& more) {
  return R"({"transactionHash":")" + hash_a + R"(","blockHash":")" + hash_b + R"(","blockNumber":"0x10")" + more + "}";
}

std::string receipt_in(const std::string& block) {
  return R"({"transactionHash":")" + hash_a + R"(",)" + block + "}";
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
  for (const char* text : {"{}", "[]", "true", "\"0x1\"", "7", "{", ""}) {
    CAPTURE(text);
    CHECK_THROWS_AS(read_receipt(text, hash_a), Misread);
  }
  for (const char* block : {R"("blockHash":"0xab","blockNumber":"0x1")", R"("blockHash":7,"blockNumber":"0x1")",
                            R"("blockHash":null,"blockNumber":"0xNaN")", R"("blockHash":null,"blockNumber":-1)"}) {
    CAPTURE(block);
    CHECK_THROWS_AS(read_receipt(receipt_in(block), hash_a), Misread);
  }
}

TEST_CASE("a receipt without a sealed block is pending, not an error") {
  const std::string zero = "0x" + std::string(64, '0');
  for (const std::string& block :
       {std::string(R"("blockHash":null,"blockNumber":null)"), std::string(R"("logs":[])"),
        R"("blockHash":")" + hash_b + R"(","blockNumber":null)", R"("blockHash":")" + hash_b + "\"",
        std::string(R"("blockNumber":"0x10")"), R"("blockHash":")" + zero + R"(","blockNumber":"0x10")"}) {
    CAPTURE(block);
    const auto receipt = read_receipt(receipt_in(block + R"(,"status":"0x1")"), hash_a);
    REQUIRE(receipt);
    CHECK(receipt->transaction_hash == hash_a);
    CHECK(receipt->block_hash.empty());
    CHECK(receipt->block_number == 0);
    CHECK(receipt->succeeded == true);
  }
}

TEST_CASE("what a receipt tells beside its block does not void it") {
  for (const char* junk : {R"("0xNaN")", R"("0x")", R"("")", R"("7")", "{}", "[]", "-1", "0.5", "1.0", "true",
                           "\"0x8000000000000000\"", "9223372036854775808", "99999999999999999999", "null"}) {
    CAPTURE(junk);
    const std::string text(junk);
    const auto receipt = read_receipt(
        receipt_with(R"(,"gasUsed":)" + text + R"(,"effectiveGasPrice":)" + text + R"(,"status":"0x1")"), hash_a);
    REQUIRE(receipt);
    CHECK(receipt->block_hash == hash_b);
    CHECK_FALSE(receipt->gas_used);
    CHECK_FALSE(receipt->effective_gas_price);
    CHECK(receipt->succeeded == true);
    if (text == "true") continue;
    const auto unclear = read_receipt(receipt_with(R"(,"status":)" + text + R"(,"gasUsed":"0x5208")"), hash_a);
    CHECK_FALSE(unclear->succeeded);
    CHECK(unclear->gas_used == 21000);
  }
  for (const char* status : {R"("0x2")", "2", R"("success")"}) {
    CHECK_FALSE(read_receipt(receipt_with(R"(,"status":)" + std::string(status)), hash_a)->succeeded);
  }
}

TEST_CASE("quantities of a receipt may be bare integers, and its status a boolean") {
  const auto receipt = read_receipt(receipt_in(R"("blockHash":")" + hash_b + R"(","blockNumber":17,"status":1,)" +
                                               R"("gasUsed":21000,"effectiveGasPrice":9223372036854775807)"),
                                    hash_a);
  REQUIRE(receipt);
  CHECK(receipt->block_hash == hash_b);
  CHECK(receipt->block_number == 17);
  CHECK(receipt->succeeded == true);
  CHECK(receipt->gas_used == 21000);
  CHECK(receipt->effective_gas_price == 9'223'372'036'854'775'807U);
  CHECK(read_receipt(receipt_with(R"(,"status":true)"), hash_a)->succeeded == true);
  CHECK(read_receipt(receipt_with(R"(,"status":false)"), hash_a)->succeeded == false);
  CHECK(read_receipt(receipt_with(R"(,"status":0)"), hash_a)->succeeded == false);
  CHECK(read_receipt(receipt_with(R"(,"status":"0x01","gasUsed":"0x0005208")"), hash_a)->gas_used == 21000);
}

TEST_CASE("a height above 2^63-1 is misread, never wrapped") {
  const std::string in_block = R"("blockHash":")" + hash_b + R"(","blockNumber":)";
  CHECK(read_receipt(receipt_in(in_block + R"("0x7fffffffffffffff")"), hash_a)->block_number == (1ULL << 63) - 1);
  CHECK(read_block(R"({"number":9223372036854775807})")->number == (1ULL << 63) - 1);
  for (const std::string height : {R"("0x8000000000000000")", R"("0xffffffffffffffff")", "9223372036854775808",
                                   "18446744073709551615", "18446744073709551616", "-1", "1.5"}) {
    CAPTURE(height);
    CHECK_THROWS_AS(read_receipt(receipt_in(in_block + height), hash_a), Misread);
    CHECK_THROWS_AS(read_block(R"({"number":)" + height + "}"), Misread);
  }
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

TEST_CASE("a block keeps its number and hash when its time or base fee cannot be read") {
  for (const std::string junk : {R"("0xNaN")", "{}", "-5", "1.5", R"("0x8000000000000000")", "null"}) {
    CAPTURE(junk);
    const auto block = read_block(R"({"number":2,"hash":")" + hash_b + R"(","timestamp":)" + junk +
                                  R"(,"baseFeePerGas":)" + junk + "}");
    REQUIRE(block);
    CHECK(block->number == 2);
    CHECK(block->hash == hash_b);
    CHECK_FALSE(block->timestamp);
    CHECK_FALSE(block->base_fee_per_gas);
  }
  const auto bare = read_block(R"({"number":"0x0002","timestamp":101,"baseFeePerGas":7,"transactions":[{"hash":")" +
                               hash_a + R"(","nonce":3,"value":0}]})");
  CHECK(bare->number == 2);
  CHECK(bare->timestamp == 101);
  CHECK(bare->base_fee_per_gas == 7);
  REQUIRE(bare->transactions.size() == 1);
  CHECK(bare->transactions[0].nonce == 3);
  CHECK(bare->transactions[0].value == Uint256());
  CHECK(read_block(R"({"number":null,"hash":"0x)" + std::string(64, '0') + "\"}")->hash.empty());
  CHECK_THROWS_AS(read_block(R"({"number":"0x2","hash":"0xab"})"), Misread);
}

TEST_CASE("a node knows a transaction only when it answers with that very transaction") {
  CHECK(read_transaction(R"({"hash":")" + hash_a + R"(","blockHash":null})", hash_a));
  CHECK_FALSE(read_transaction("null", hash_a));
  CHECK_THROWS_AS(read_transaction(R"({"hash":")" + hash_b + R"("})", hash_a), Misread);
}

TEST_CASE("of several receipts of one transaction, each field is what most of them tell") {
  const auto told = [](std::optional<bool> succeeded, std::optional<std::uint64_t> gas,
                       std::optional<std::uint64_t> price) {
    return Receipt{hash_a, hash_b, 7, succeeded, gas, price};
  };
  const auto none = std::nullopt;
  CHECK(agreed(std::vector{told(true, 1, none)}) == told(true, 1, none));
  CHECK(agreed(std::vector{told(true, 1, 5), told(true, 2, none)}) == told(true, none, 5));
  CHECK(agreed(std::vector{told(false, 3, 5), told(true, 2, 6), told(true, 3, 7)}) == told(true, 3, none));
  CHECK(agreed(std::vector{told(none, 1, 5), told(true, 2, 6), told(false, 2, 5), told(none, 1, 5)}) ==
        told(none, none, 5));
}

TEST_CASE("what cannot be so of a plain transfer is taken out of its receipt") {
  const auto left_of = [](std::uint64_t gas, std::uint64_t price, std::optional<std::uint64_t> base_fee) {
    Receipt receipt{hash_a, hash_b, 7, true, gas, price};
    drop_impossible(receipt, 30, base_fee);
    return std::pair(receipt.gas_used, receipt.effective_gas_price);
  };
  using Left = std::pair<std::optional<std::uint64_t>, std::optional<std::uint64_t>>;
  const auto none = std::nullopt;
  CHECK(left_of(21000, 30, 10) == Left(21000, 30));
  CHECK(left_of(21000, 10, 10) == Left(21000, 10));
  CHECK(left_of(21000, 0, none) == Left(21000, 0));
  CHECK(left_of(21001, 31, 10) == Left(none, none));
  CHECK(left_of(20999, 9, 10) == Left(none, none));
}

TEST_CASE("a node tells where a transaction is: waiting, or in a block") {
  auto where = [](const std::string& more) {
    return read_transaction(R"({"hash":")" + hash_a + "\"" + more + "}", hash_a);
  };
  const std::string in_block = R"(,"blockHash":")" + hash_b + "\"";
  CHECK_FALSE(read_transaction("null", hash_a));
  CHECK(where(R"(,"blockHash":null,"blockNumber":null)") == KnownTransaction{});
  CHECK(where("") == KnownTransaction{});
  CHECK(where(R"(,"blockHash":"0x)" + std::string(64, '0') + R"(","blockNumber":"0x10")") == KnownTransaction{"", 16});
  CHECK(where(in_block + R"(,"blockNumber":"0x10")") == KnownTransaction{hash_b, 16});
  CHECK(where(in_block + R"(,"blockNumber":16)") == KnownTransaction{hash_b, 16});
  CHECK(where(in_block + R"(,"blockNumber":"0x8000000000000000")") == KnownTransaction{hash_b, std::nullopt});
  CHECK(where(R"(,"blockHash":"0xab","blockNumber":{})") == KnownTransaction{});
  CHECK(read_transaction(R"({"hash":"0x)" + std::string(64, 'A') + "\"}", hash_a));
  for (const std::string text : {"true", "[]", "{}", "7", R"({"hash":null})"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(read_transaction(text, hash_a), Misread);
  }
}

TEST_CASE("plain results are what they should be or misread") {
  CHECK(read_quantity_result("\"0x7\"") == 7);
  CHECK(read_quantity_result("7") == 7);
  CHECK(read_quantity_result("18446744073709551615") == std::numeric_limits<std::uint64_t>::max());
  CHECK(read_quantity256_result("7") == Uint256(7));
  CHECK(read_quantity256_result("\"0x10000000000000000\"").minimal().size() == 9);
  for (const char* text : {"-7", "7.0", "true", "null", "\"0x\"", "\"\"", "\"7\"", "{}"})
    CHECK_THROWS_AS(read_quantity_result(text), Misread);
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

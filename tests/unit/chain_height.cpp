#include <catch2/catch.hpp>

#include "chain/height.hpp"

using namespace rpcroute::chain;

namespace {

constexpr auto evm = ChainKind::evm;
constexpr auto solana = ChainKind::solana;

std::optional<std::int64_t> height(ChainKind kind, std::string_view method, std::string_view result) {
  const Height found = height_of(kind, method, result);
  CHECK_FALSE(found.malformed);
  return found.value;
}

bool malformed(ChainKind kind, std::string_view method, std::string_view result) {
  const Height found = height_of(kind, method, result);
  CHECK(found.malformed != found.problem.empty());
  CHECK((!found.malformed || !found.value));
  return found.malformed;
}

}  // namespace

TEST_CASE("A block number is a quantity, leading zeros forgiven, or an integer") {
  CHECK(height(evm, "eth_blockNumber", R"("0x3c")") == 60);
  CHECK(height(evm, "eth_blockNumber", R"("0x00a1")") == 161);
  CHECK(height(evm, "eth_blockNumber", R"("0x0")") == 0);
  CHECK(height(evm, "eth_blockNumber", R"("0x7fffffffffffffff")") == INT64_MAX);
  CHECK(height(evm, "eth_blockNumber", "161") == 161);
}

TEST_CASE("What is no height is malformed and never a number") {
  const std::string result =
      GENERATE("null", R"("0x")", R"("0xZZ")", R"("")", "12.5", R"(" 0x1")", R"("0X10")", R"("161")", "-1", "{}", "[]",
               "true", R"("0x8000000000000000")", R"("0xffffffffffffffff")", "18446744073709551615", R"("0x-1")");
  INFO(result);
  CHECK(malformed(evm, "eth_blockNumber", result));
}

TEST_CASE("A block, a syncing node and a Solana context carry heights") {
  CHECK(height(evm, "eth_getBlockByNumber", R"({"number":"0x10","hash":"0x"})") == 16);
  CHECK_FALSE(height(evm, "eth_getBlockByNumber", "null"));
  CHECK_FALSE(height(evm, "eth_getBlockByNumber", R"({"number":null})"));
  CHECK(malformed(evm, "eth_getBlockByNumber", R"({"number":"ten"})"));
  CHECK(malformed(evm, "eth_getBlockByNumber", R"("0x10")"));
  CHECK_FALSE(height(evm, "eth_syncing", "false"));
  CHECK(height(evm, "eth_syncing", R"({"currentBlock":"0x0","stages":[{"stage_name":"Headers"}]})") == 0);
  CHECK(malformed(evm, "eth_syncing", "true"));
  CHECK(height(solana, "getSlot", "400000000") == 400000000);
  CHECK(malformed(solana, "getSlot", R"("0x10")"));
  CHECK(malformed(solana, "getSlot", "18446744073709551615"));
  CHECK(height(solana, "getBalance", R"({"context":{"apiVersion":"2","slot":9},"value":18446744073709551615})") == 9);
  CHECK(height(solana, "getLatestBlockhash", R"({"context":{"slot":9},"value":{"lastValidBlockHeight":5}})") == 9);
  CHECK(height(solana, "getTokenAccountsByOwner", R"({"context":{"slot":9},"value":[]})") == 9);
  CHECK(malformed(solana, "getBalance", R"({"value":1})"));
}

TEST_CASE("Answers without a height are still checked for their type") {
  CHECK_FALSE(height(evm, "eth_chainId", R"("0x1")"));
  CHECK(malformed(evm, "eth_chainId", "null"));
  CHECK(malformed(evm, "eth_getBalance", R"("0x")"));
  CHECK_FALSE(height(evm, "eth_call", R"("0x")"));
  CHECK(malformed(evm, "eth_call", "{}"));
  CHECK_FALSE(height(evm, "net_version", R"("11155111")"));
  CHECK_FALSE(height(evm, "eth_getTransactionReceipt", "null"));
  CHECK(malformed(solana, "getGenesisHash", "5"));
}

TEST_CASE("Heads of a subscription carry heights") {
  CHECK(height_of_head(evm, R"({"number":"0x10"})").value == 16);
  CHECK(height_of_head(solana, R"({"parent":8,"root":1,"slot":9})").value == 9);
  CHECK(height_of_head(evm, R"("0x10")").malformed);
  CHECK(height_of_head(solana, R"({"slot":null})").malformed);
}

TEST_CASE("Only methods that read may be asked") {
  for (const char* method : {"eth_blockNumber", "eth_chainId", "eth_call", "eth_getLogs", "net_version"}) {
    CHECK(is_read_method(evm, method));
  }
  for (const char* method : {"getSlot", "getLatestBlockhash", "getBalance", "getTokenAccountsByOwner"}) {
    CHECK(is_read_method(solana, method));
  }
  for (const char* method : {"eth_sendRawTransaction", "eth_sendTransaction", "eth_sign", "eth_subscribe", "evm_mine",
                             "personal_unlockAccount", "admin_addPeer", "anvil_setBalance", "eth_newFilter", "",
                             "debug_setHead", "miner_start", "getSlot", "ETH_BLOCKNUMBER"}) {
    CHECK_FALSE(is_read_method(evm, method));
  }
  for (const char* method : {"sendTransaction", "requestAirdrop", "slotSubscribe", "eth_blockNumber"}) {
    CHECK_FALSE(is_read_method(solana, method));
  }
}

TEST_CASE("Default parameters let the usual methods answer anywhere") {
  CHECK(default_params(evm, "eth_blockNumber") == "[]");
  CHECK(default_params(evm, "eth_getBlockByNumber") == R"(["latest",false])");
  CHECK(default_params(solana, "getBalance") == R"(["11111111111111111111111111111111"])");
  CHECK(default_height_method(evm) == "eth_blockNumber");
  CHECK(default_height_method(solana) == "getSlot");
}

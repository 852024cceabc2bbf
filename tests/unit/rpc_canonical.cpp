#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "rpc/canonical.hpp"
#include "rpc/json_rpc.hpp"

using namespace rpcroute::rpc;

namespace {

bool same(std::string_view a, std::string_view b, std::string_view method = "") {
  const bool equal = canonical_digest(a, method) == canonical_digest(b, method);
  CHECK(equal == (canonical_diff(a, b, method) == "[]"));
  return equal;
}

const std::string hash_a = "0x" + std::string(63, '0') + "a";

/// A receipt with this text among its members.
std::string receipt(const std::string& members) {
  return R"({"transactionHash":")" + hash_a + R"(","cumulativeGasUsed":"0x5208","gasUsed":"0x5208")" + members + "}";
}

std::string transaction(const std::string& members) {
  return R"({"hash":")" + hash_a + R"(","from":"0xAb","nonce":"0x1","input":"0x")" + members + "}";
}

std::string block(const std::string& members) {
  return R"({"parentHash":"0x01","stateRoot":"0x02")" + members + "}";
}

}  // namespace

TEST_CASE("Member order, blanks and escapes make no other answer") {
  CHECK(canonical(R"( { "b" : [ 1 , "\u0041" ] , "a" : true } )", "") == R"({"a":true,"b":[1,"A"]})");
  CHECK(same(R"({"a":1,"b":null})", "{\n\"b\":null,\"a\":1}"));
}

TEST_CASE("Quantities compare as numbers of any size, and data byte by byte") {
  CHECK(canonical(R"({"gasUsed":"0x00FF","blockTimestamp":255})", "") ==
        R"({"blockTimestamp":"0xff","gasUsed":"0xff"})");
  CHECK(canonical(R"("0x00a1")", "eth_blockNumber") == R"("0xa1")");
  CHECK(canonical("161", "eth_blockNumber") == R"("0xa1")");
  CHECK(canonical(R"("0x00A1")", "eth_call") == R"("0x00a1")");
  CHECK_FALSE(same(R"({"data":"0x01"})", R"({"data":"0x0001"})"));
  CHECK_FALSE(same(R"(["0x0","0x1"])", R"(["0x1"])"));
  CHECK(same(R"({"value":18446744073709551617})", R"({"value":"0x10000000000000001"})"));
  CHECK_FALSE(same(R"({"value":18446744073709551617})", R"({"value":18446744073709551616})"));
  CHECK(same(R"({"address":"0xAbCd"})", R"({"address":"0xabcd"})"));
}

TEST_CASE("A missing status is no failed status, and null is absence only where the field is optional") {
  CHECK_FALSE(same(receipt(R"(,"status":"0x0")"), receipt("")));
  CHECK_FALSE(same(receipt(R"(,"status":"0x0")"), receipt(R"(,"status":"0x1")")));
  CHECK(same(receipt(R"(,"to":null)"), receipt("")));
  CHECK_FALSE(same(R"({"a":null})", "{}"));
}

TEST_CASE("Receipts agree whatever clients add to them") {
  CHECK(
      same(receipt(R"(,"type":"0x2","status":"0x1")"),
           receipt(R"(,"type":"0x02","status":"0x1","blobGasPrice":"0x1","blockTimestamp":1700000000,"l1Fee":"0x5")")));
  CHECK(same(receipt(R"(,"status":"0x0","contractAddress":"0x01")"),
             receipt(R"(,"status":"0x0","contractAddress":null)")));
  CHECK_FALSE(same(receipt(R"(,"status":"0x1","contractAddress":"0x01")"), receipt(R"(,"status":"0x1")")));
  CHECK_FALSE(same(receipt(R"(,"type":"0x3","blobGasPrice":"0x1")"), receipt(R"(,"type":"0x3","blobGasPrice":"0x2")")));
}

TEST_CASE("Transactions agree over v, yParity, type and the form of their numbers") {
  CHECK(same(transaction(R"(,"type":"0x2","v":"0x1","yParity":"0x1","r":"0x0a")"),
             transaction(R"(,"type":"0x2","v":"0x1","r":"0xa")")));
  CHECK_FALSE(same(transaction(R"(,"type":"0x2","v":"0x1")"), transaction(R"(,"type":"0x2","v":"0x0")")));
  CHECK(same(transaction(R"(,"type":"0x0","v":"0x1b","chainId":"0x1")"), transaction(R"(,"v":"0x1b")")));
  CHECK_FALSE(same(transaction(R"(,"v":"0x1b")"), transaction(R"(,"v":"0x1c")")));
  CHECK(same(transaction(R"(,"blockHash":null,"blockNumber":null,"transactionIndex":null)"), transaction("")));
}

TEST_CASE("Blocks agree over what their hash says, and their nonce is data") {
  CHECK(same(block(R"(,"nonce":"0x0000000000000000","size":"0x1","totalDifficulty":"0x5","miner":"0x01")"),
             block(R"(,"nonce":"0x0000000000000000","withdrawals":[])")));
  CHECK_FALSE(same(block(R"(,"nonce":"0x0000000000000000")"), block(R"(,"nonce":"0x0")")));
  CHECK_FALSE(same(block(R"(,"gasUsed":"0x1")"), block(R"(,"gasUsed":"0x2")")));
  CHECK_FALSE(same(block(R"(,"transactions":["0x01","0x02"])"), block(R"(,"transactions":["0x02","0x01"])")));
}

TEST_CASE("Logs agree over their time stamps, and null is none of them in eth_getLogs alone") {
  const std::string log = R"({"address":"0x01","topics":[],"data":"0x","logIndex":"0x0")";
  CHECK(same("[" + log + "}]", "[" + log + R"(,"blockTimestamp":"0x5","removed":false}])"));
  CHECK_FALSE(same("[" + log + R"(,"removed":true}])", "[" + log + "}]"));
  CHECK(same("null", "[]", "eth_getLogs"));
  CHECK_FALSE(same("null", "[]", "eth_getBlockReceipts"));
}

TEST_CASE("A Solana answer is its value, whichever slot it was seen in, and its texts keep their case") {
  CHECK(same(R"({"context":{"slot":1,"apiVersion":"2.0"},"value":5})", R"({"context":{"slot":2},"value":5})",
             "getBalance"));
  CHECK_FALSE(same(R"({"context":{"slot":1},"value":5})", R"({"context":{"slot":1},"value":6})", "getBalance"));
  CHECK_FALSE(same(R"("0xAB")", R"("0xab")", "getGenesisHash"));
  CHECK(canonical(R"({"context":{"slot":1},"value":100})", "getBalance") == R"({"value":100})");
}

TEST_CASE("Errors are their class and data, and never their words or ids") {
  const std::string geth =
      R"({"jsonrpc":"2.0","id":1,"error":{"code":3,"message":"execution reverted: x","data":"0x7A93"}})";
  const std::string nethermind =
      R"({"jsonrpc":"2.0","id":2,"error":{"code":-32015,"message":"VM execution error.","data":"Reverted 0x7a93"}})";
  CHECK(same(geth, nethermind, "eth_call"));
  CHECK(canonical(geth, "eth_call") == R"({"data":"0x7a93","error_class":"rpc","error_kind":"reverted"})");
  CHECK(same(R"({"code":-32000,"message":"header not found"})", R"({"code":-32001,"message":"unknown block"})"));
  CHECK_FALSE(same(R"({"code":3,"message":"reverted"})", R"({"code":-32000,"message":"header not found"})"));
}

TEST_CASE("A whole response is its result") {
  CHECK(same(R"({"jsonrpc":"2.0","id":1,"result":"0x0a"})", R"({"id":9,"result":"0xa","jsonrpc":"2.0"})",
             "eth_blockNumber"));
}

TEST_CASE("A digest is the SHA-256 of the canonical text") {
  CHECK(canonical_digest(R"( "abc" )", "") == "6cc43f858fbb763301637b5af970e2a46b46f461f27e5a0f41e009c59b827b25");
}

TEST_CASE("What is no JSON is refused, however it is broken") {
  const std::string json = GENERATE("", "{", "[1,]", "{\"a\"}", "\"\xFF\"", "nul", std::string(100000, '['));
  CHECK_THROWS_AS(canonical(json, ""), std::invalid_argument);
}

TEST_CASE("The recorded answers of execution clients decode, and their canonical form is stable") {
  const std::filesystem::path recorded = RPCROUTE_SOURCE_DIR "/../shared/data/rpc-compat";
  if (!std::filesystem::exists(recorded)) return;  // they are not part of the repository
  int answers = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(recorded)) {
    if (entry.path().extension() != ".io") continue;
    const std::string method = entry.path().parent_path().filename();
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) {
      if (line.rfind("<< ", 0) != 0) continue;
      INFO(entry.path());
      const std::string body = line.substr(3);
      CHECK_FALSE(std::holds_alternative<NotJsonRpc>(decode_response(body, 1)));
      const std::string once = canonical(body, method);
      if (once.find("error_class") == std::string::npos) CHECK(canonical(once, method) == once);
      ++answers;
    }
  }
  CHECK(answers > 0);
}

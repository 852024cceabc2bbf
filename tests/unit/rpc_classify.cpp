#include <catch2/catch.hpp>
#include <string>

#include "rpc/classify.hpp"

using namespace rpcroute::rpc;

namespace {

std::string text_of(const Verdict& verdict) {
  return std::string(name(verdict.error_class)) + (verdict.kind.empty() ? "" : "/" + std::string(verdict.kind));
}

std::string read(std::int64_t code, std::string_view words, std::string_view method = "eth_call") {
  return text_of(classify_error({ChainKind::evm, method, 200, code, words}));
}

std::string sent(std::int64_t code, std::string_view words) {
  return read(code, words, "eth_sendRawTransaction");
}

std::string solana(std::int64_t code, std::string_view words) {
  return text_of(classify_error({ChainKind::solana, "getSlot", 200, code, words}));
}

std::string status(long http_status, std::string_view words = "") {
  return text_of(classify_status({ChainKind::evm, "eth_call", http_status, std::nullopt, words}));
}

}  // namespace

TEST_CASE("A rate limit is one in whichever shape it comes") {
  CHECK(read(429, "") == "rate_limited");
  CHECK(read(-32005, "daily request count exceeded, request rate limited") == "rate_limited");
  CHECK(read(-32005, "") == "rate_limited");
  CHECK(read(-32007, "50/second request limit reached") == "rate_limited");
  CHECK(read(-32007, "") == "rate_limited");
  CHECK(read(-32029, "") == "rate_limited");
  CHECK(read(15, "public endpoint rate limit") == "rate_limited");
  CHECK(read(-32016, "over rate limit") == "rate_limited");
  CHECK(read(-32000, R"(429 too many requests: {"code":-32016,"message":"over rate limit"})") == "rate_limited");
  CHECK(text_of(classify_error({ChainKind::evm, "eth_call", 429, -32603, ""})) == "rate_limited");
  CHECK(solana(429, "") == "rate_limited");
}

TEST_CASE("The same code is another thing on Solana") {
  CHECK(solana(-32007, "slot 1 was skipped") == "rpc/slot_skipped");
  CHECK(solana(-32005, "node is behind by 213 slots") == "rpc/unhealthy");
  CHECK(solana(-32016, "minimum context slot has not been reached") == "rpc/stale");
  CHECK(solana(-32004, "block not available for slot 1") == "rpc/missing_data");
}

TEST_CASE("Billing, the sequencer's limit and a range that is too large are no rate limits") {
  CHECK(read(-32005, "monthly capacity limit exceeded. visit /billing") == "rate_limited/billing");
  CHECK(read(-32000, "sender is over rate limit") == "rpc/sender_limited");
  CHECK(read(-32005, "query returned more than 10000 results") == "rpc/range_too_large");
  CHECK(read(-32003, "response too large") == "rpc/range_too_large");
  CHECK(read(-32000, "response is too big exceeded max limit of 167772160") == "rpc/range_too_large");
  CHECK(sent(-32000, "transaction gas limit exceeded") == "rpc/tx_rejected");
}

TEST_CASE("A revert is one by code, words or data, and an unknown error never is") {
  CHECK(read(3, "execution reverted") == "rpc/reverted");
  CHECK(read(-32000, "vm exception while processing transaction") == "rpc/reverted");
  CHECK(read(-32015, "vm execution error. reverted 0x7a933234") == "rpc/reverted");
  CHECK(read(-32000, "evm error: outofgas") == "rpc/reverted");
  CHECK(read(-32015, "") == "rpc/server");
  CHECK(read(-32000, "unknown rpc error") == "rpc/server");
}

TEST_CASE("Missing data, a busy node and a missing method are told apart") {
  CHECK(read(-32000, "missing trie node abc (path )") == "rpc/missing_data");
  CHECK(read(-32000, "header not found") == "rpc/missing_data");
  CHECK(read(4444, "") == "rpc/missing_data");
  CHECK(read(-32000, "state is not available") == "rpc/missing_data");
  CHECK(read(-32000, "transaction indexing is in progress") == "rpc/indexing");
  CHECK(read(-32002, "request timed out") == "rpc/node_timeout");
  CHECK(read(-32601, "") == "rpc/unsupported");
  CHECK(read(-32004, "method eth_x is not supported") == "rpc/unsupported");
  CHECK(read(-32700, "the method eth_x does not exist/is not available") == "rpc/unsupported");
  CHECK(read(-32602, "") == "rpc/invalid_params");
  CHECK(read(-32600, "must be authenticated!") == "auth");
  CHECK(read(-32600, "") == "rpc/invalid_request");
}

TEST_CASE("What the pool says of a transaction that was sent") {
  CHECK(sent(-32000, "already known") == "rpc/already_known");
  CHECK(sent(-32000, "known transaction: 0xab") == "rpc/already_known");
  CHECK(sent(-32003, "transaction already imported") == "rpc/already_known");
  CHECK(sent(-32003, "nonce too low") == "nonce/nonce_too_low");
  CHECK(sent(-32001, "nonce too low") == "nonce/nonce_too_low");
  CHECK(sent(-32000, "transaction nonce too low. expected nonce to be at least 1 but got 0.") == "nonce/nonce_too_low");
  CHECK(sent(-32003, "replacement transaction underpriced") == "underpriced/replacement");
  CHECK(sent(-32003, "transaction underpriced") == "underpriced");
  CHECK(sent(-32000, "max fee per gas less than block base fee") == "underpriced");
  CHECK(sent(-32003, "insufficient funds for gas * price + value") == "funds/insufficient_funds");
  CHECK(sent(-32000, "sender doesn't have enough funds to send tx") == "funds/insufficient_funds");
  CHECK(sent(-32003, "invalid chain id for signer") == "wrong_chain");
  CHECK(sent(-32603, "an existing transaction had higher priority") == "rpc/tx_rejected");
  CHECK(sent(-32000, "rejected") == "rpc/tx_rejected");
}

TEST_CASE("No failure to send reads as a success") {
  CHECK(sent(-32000, "unknown rpc error") == "rpc/server");
  CHECK(sent(-32000, "unknown transaction type") == "rpc/tx_rejected");
  CHECK(sent(-32000, "nonce too high") == "nonce/nonce_too_high");
}

TEST_CASE("Words of the pool mean nothing on a read, and funds are no matter of a trace") {
  CHECK(read(-32000, "nonce too low", "eth_getBalance") == "rpc/server");
  CHECK(read(-32000, "insufficient funds", "debug_traceTransaction") == "rpc/server");
  CHECK(read(-32000, "insufficient funds", "eth_call") == "rpc/insufficient_funds");
}

TEST_CASE("An answer without JSON-RPC is judged by its status, unless it says what it is") {
  CHECK(status(200) == "malformed");
  CHECK(status(502) == "http");
  CHECK(status(302) == "http/redirect");
  CHECK(status(413) == "http/request_too_large");
  CHECK(status(405) == "http/unsupported");
  CHECK(status(429) == "rate_limited");
  CHECK(status(402) == "rate_limited/billing");
  CHECK(status(429, "monthly capacity limit exceeded") == "rate_limited/billing");
  CHECK(status(401) == "auth");
  CHECK(status(403) == "auth");
  CHECK(status(403, "rate limit exceeded") == "rate_limited");
  CHECK(status(200, "too many requests") == "rate_limited");
}

TEST_CASE("A wait that was asked for is at least a second") {
  CHECK_FALSE(asked_wait("", std::nullopt, 0));
  CHECK(asked_wait("2.5", std::nullopt, 0) == 2.5);
  CHECK(asked_wait("0", std::nullopt, 0) == 1.0);
  CHECK(asked_wait("-5", std::nullopt, 0) == 1.0);
  CHECK(asked_wait("", 0.0, 0) == 1.0);
  CHECK(asked_wait("3", 30.0, 0) == 30.0);
  CHECK(asked_wait("Thu, 01 Jan 1970 00:01:00 GMT", std::nullopt, 20) == 40.0);
  CHECK(asked_wait("Thu, 01 Jan 1970 00:01:00 GMT", std::nullopt, 100) == 1.0);
  CHECK_FALSE(asked_wait("soon", std::nullopt, 0));
  CHECK(asked_wait("1e300", std::nullopt, 0) == 366.0 * 86400);
}

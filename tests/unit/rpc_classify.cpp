#include <catch2/catch.hpp>
#include <string>

#include "rpc/classify.hpp"

using namespace rpcroute;
using namespace rpcroute::rpc;

namespace {

std::string text_of(const Verdict& verdict) {
  return std::string(name(verdict.error_class)) + (verdict.kind.empty() ? "" : "/" + std::string(verdict.kind));
}

std::string read(std::int64_t code, std::string_view words, std::string_view method = "eth_call") {
  return text_of(classify_error({chain::ChainKind::evm, method, 200, code, words}));
}

std::string sent(std::int64_t code, std::string_view words) {
  return read(code, words, "eth_sendRawTransaction");
}

std::string solana(std::int64_t code, std::string_view words) {
  return text_of(classify_error({chain::ChainKind::solana, "getSlot", 200, code, words}));
}

std::string status(long http_status, std::string_view words = "") {
  return text_of(classify_status({chain::ChainKind::evm, "eth_call", http_status, std::nullopt, words}));
}

}  // namespace

TEST_CASE("A rate limit is one in whichever shape it comes") {
  CHECK(read(429, "") == "rate_limited");
  CHECK(read(-32005, "") == "rate_limited");
  CHECK(read(-32007, "50/second request limit reached") == "rate_limited");
  CHECK(read(-32007, "") == "rate_limited");
  CHECK(read(-32029, "") == "rate_limited");
  CHECK(read(15, "public endpoint rate limit") == "rate_limited");
  CHECK(read(-32016, "over rate limit") == "rate_limited");
  CHECK(read(-32000, R"(429 too many requests: {"code":-32016,"message":"over rate limit"})") == "rate_limited");
  CHECK(text_of(classify_error({chain::ChainKind::evm, "eth_call", 429, -32603, ""})) == "rate_limited");
  CHECK(solana(429, "") == "rate_limited");
}

TEST_CASE("The same code is another thing on Solana") {
  CHECK(solana(-32007, "slot 1 was skipped") == "rpc/slot_skipped");
  CHECK(solana(-32005, "node is behind by 213 slots") == "rpc/unhealthy");
  CHECK(solana(-32016, "minimum context slot has not been reached") == "rpc/stale");
  CHECK(solana(-32004, "block not available for slot 1") == "rpc/missing_data");
  CHECK(solana(410, "The RPC call or parameters have been disabled.") == "rpc/unsupported");
  CHECK(solana(410, "") == "rpc/unsupported");
  CHECK(solana(-32000, "this RPC call has been disabled") == "rpc/unsupported");
  CHECK(text_of(classify_error({chain::ChainKind::solana, "getSlot", 410, std::nullopt, "gone"})) == "rpc/unsupported");
}

TEST_CASE("Billing, the sequencer's limit and a range that is too large are no rate limits") {
  CHECK(read(-32005, "monthly capacity limit exceeded. visit /billing") == "rate_limited/billing");
  CHECK(read(-32000, "sender is over rate limit") == "rpc/sender_limited");
  CHECK(read(-32005, "query returned more than 10000 results") == "rpc/range_too_large");
  CHECK(read(-32003, "response too large") == "rpc/range_too_large");
  CHECK(read(-32000, "response is too big exceeded max limit of 167772160") == "rpc/range_too_large");
  CHECK(sent(-32000, "transaction gas limit exceeded") == "rpc/tx_rejected");
}

TEST_CASE("A quota of the day is neither a matter of seconds nor of the month") {
  CHECK(read(-32005, "daily request count exceeded, request rate limited") == "rate_limited/quota");
  CHECK(read(429, "You have exceeded your daily limit") == "rate_limited/quota");
  CHECK(read(-32029, "maximum of 100000 requests per day reached") == "rate_limited/quota");
  CHECK(read(429, "100000 calls in 24 hours: limit reached") == "rate_limited/quota");
  CHECK(read(429, "24-hour request limit exceeded") == "rate_limited/quota");
  CHECK(read(-32000, "quota exceeded") == "rate_limited/quota");
  CHECK(read(-32000, "You have exceeded your compute quota") == "rate_limited/quota");
  CHECK(read(-32000, "QuotaExceeded") == "rate_limited/quota");
  CHECK(read(-32000, "all 300000 compute units of this day are used") == "rate_limited/quota");
  CHECK(status(429, "Daily request limit reached") == "rate_limited/quota");
  CHECK(status(403, "quota exceeded") == "rate_limited/quota");

  CHECK(read(429, "monthly quota exceeded") == "rate_limited/billing");
  CHECK(read(429, "you exceeded your monthly compute quota") == "rate_limited/billing");
  CHECK(read(429, "exceeded your quota of requests per second") == "rate_limited");
  CHECK(read(429, "Your app has exceeded its compute units per second capacity") == "rate_limited");
  CHECK(read(-32000, "state older than 24 hours is not available") == "rpc/server");
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
  CHECK(read(-32602, "block range extends beyond current head", "eth_getLogs") == "rpc/missing_data");
  CHECK(read(-32602, "block range is too wide", "eth_getLogs") == "rpc/range_too_large");
  CHECK(read(-32000, "old data not available due to pruning") == "rpc/missing_data");
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

TEST_CASE("A pool's verdict is the same in words, in CamelCase and with underscores") {
  for (const char* text : {"nonce too low", "NonceTooLow", "nonce_too_low", "nonce-too-low", "ERR_NONCE_TOO_LOW"}) {
    INFO(text);
    CHECK(sent(-32000, text) == "nonce/nonce_too_low");
  }
  for (const char* text : {"insufficient funds", "InsufficientFunds", "insufficient_funds", "INSUFFICIENT_FUNDS"}) {
    INFO(text);
    CHECK(sent(-32000, text) == "funds/insufficient_funds");
  }
  for (const char* text : {"invalid chain id", "invalid chain-id on InitChain", "incorrect chain-id", "InvalidChainId",
                           "INVALID_CHAIN_ID", "chainId mismatch", "wrong chainid", "invalid chain_id"}) {
    INFO(text);
    CHECK(sent(-32000, text) == "wrong_chain");
  }
}

TEST_CASE("Nethermind's pool answers by the names of an enumeration") {
  CHECK(sent(-32010, "AlreadyKnown") == "rpc/already_known");
  CHECK(sent(-32010, "FeeTooLow") == "underpriced");
  CHECK(sent(-32010, "FeeTooLow, MaxFeePerGas too low. MaxFeePerGas: 1, BaseFee: 7") == "underpriced");
  CHECK(sent(-32010, "FeeTooLowToCompete") == "underpriced");
  CHECK(sent(-32010, "GasLimitExceeded, Gas limit: 1, gas limit of rejected tx: 2") == "rpc/tx_rejected");
  CHECK(sent(-32010, "InsufficientFunds, Account balance: 0, cumulative cost: 1") == "funds/insufficient_funds");
  CHECK(sent(-32010, "Int256Overflow") == "rpc/tx_rejected");
  CHECK(sent(-32000, "Int256Overflow") == "rpc/tx_rejected");
  CHECK(sent(-32010, "Invalid") == "rpc/tx_rejected");
  CHECK(sent(-32010, "NonceGap, Future nonce. Expected nonce: 1") == "nonce/nonce_too_high");
  CHECK(sent(-32010, "OldNonce, Current nonce: 5, nonce of rejected tx: 4") == "nonce/nonce_too_low");
  CHECK(sent(-32000, "SenderIsContract") == "rpc/tx_rejected");
  CHECK(sent(-32000, "MaxTxSizeExceeded") == "rpc/tx_rejected");
  CHECK(sent(-32000, "NotSupportedTxType") == "rpc/tx_rejected");
  CHECK(sent(-32000, "PendingTxsOfOtherType") == "rpc/tx_rejected");
  CHECK(sent(-32000, "NotCurrentNonceForDelegation") == "nonce");
  CHECK(sent(-32000, "DelegatorHasPendingTx") == "rpc/tx_rejected");
}

TEST_CASE("Erigon's, reth's and geth's pools refuse in their own words") {
  CHECK(sent(-32000, "UnderPriced") == "underpriced");
  CHECK(sent(-32000, "ReplaceUnderpriced") == "underpriced/replacement");
  CHECK(sent(-32000, "could not replace existing tx") == "underpriced/replacement");
  CHECK(sent(-32000, "existing tx with same hash") == "rpc/already_known");
  CHECK(sent(-32000, "DuplicateHash") == "rpc/already_known");
  for (const char* text : {"negative value",
                           "NegativeValue",
                           "oversized data",
                           "OversizedData",
                           "invalid sender",
                           "InvalidSender",
                           "spammer",
                           "rlp too long",
                           "RLPTooLong",
                           "gas uint64 overflow",
                           "GasUintOverflow",
                           "intrinsic gas too low",
                           "IntrinsicGas",
                           "pending sub-pool is full",
                           "PendingPoolOverflow",
                           "QueuedPoolOverflow",
                           "initcode too large",
                           "InitCodeTooLarge",
                           "transaction type not activated",
                           "TypeNotActivated",
                           "unsupported transaction type",
                           "gas limit is too high",
                           "GasLimitTooHigh",
                           "sender disallowed to send tx by ACL policy",
                           "sender not an eoa",
                           "transaction type not supported",
                           "txpool is full",
                           "address already reserved",
                           "max initcode size exceeded",
                           "max priority fee per gas higher than max fee per gas",
                           "replaced by transaction with higher tip"}) {
    INFO(text);
    CHECK(sent(-32000, text) == "rpc/tx_rejected");
  }
  CHECK(sent(-32000, "gapped-nonce tx from delegated accounts") == "nonce/nonce_too_high");
}

TEST_CASE("A price below what a node takes is too low, and its code is a limit only where no price was offered") {
  CHECK(sent(-32000, "gas price below minimum: address 0x1, gas tip cap 1, minimum 25000000000") == "underpriced");
  CHECK(sent(-32009, "Gas price below configured minimum gas price") == "underpriced");
  CHECK(sent(-32009, "") == "underpriced");
  CHECK(read(-32009, "") == "rate_limited");
  CHECK(sent(-32009, "rate limit exceeded") == "rate_limited");
  CHECK(sent(-32009, "invalid chain id") == "wrong_chain");
}

TEST_CASE("A pool's limit for a sender is no rate limit") {
  CHECK(sent(-32000, "in-flight transaction limit reached for delegated accounts") == "rpc/tx_rejected");
  CHECK(sent(-32000, "account limit exceeded: pooled 16 txs") == "rpc/tx_rejected");
  CHECK(sent(-32005, "txpool account limit exceeded") == "rpc/tx_rejected");
  CHECK(sent(-32000, "TxPool limit exceeded") == "rpc/tx_rejected");
  CHECK(sent(-32005, "rate limit exceeded") == "rate_limited");
  CHECK(read(-32005, "account limit exceeded") == "rate_limited");
}

TEST_CASE("Cosmos chains number a sender's transactions under another name") {
  CHECK(sent(-32000, "account sequence mismatch, expected 5, got 4: incorrect account sequence") == "nonce");
}

TEST_CASE("Words that were normalised make no success of a failure") {
  CHECK(sent(-32000, "UnknownTransactionType") == "rpc/tx_rejected");
  CHECK(sent(-32000, "TransactionUnknown") == "rpc/server");
  CHECK(read(-32000, "NonceTooLow") == "rpc/server");
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
  CHECK(status(410) == "http/unsupported");
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

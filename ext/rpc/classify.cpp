#include "rpc/classify.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <vector>

namespace rpcroute::rpc {
namespace {

enum class Chain { any, evm, solana };

/// Which calls a rule is about: those that send a transaction, those that run one without sending, all.
enum class About { any, sending, running };

/// A rule holds when one of its phrases is in the text, or one of its codes or statuses is the answer's. A phrase that
/// begins with a space must begin a word: "unknown transaction type" is not a " known transaction".
struct Rule {
  Chain chain;
  About about;
  std::vector<std::string_view> phrases;
  std::vector<std::int64_t> codes;
  std::vector<long> statuses;
  Verdict verdict;
  bool without_body = false;  ///< it also judges answers that are no JSON-RPC
};

using enum ErrorClass;

/// The first rule that holds decides. The order is eRPC's error normaliser's (range, billing, rate limit, missing data,
/// timeout, revert, pool verdicts, unsupported, parameters, key), with the clients' and chains' own codes fitted in:
/// words come before codes, since -32000 to -32016 mean different things to different clients.
const std::vector<Rule>& rules() {
  static const std::vector<Rule> all = {
      // The sequencer's limit for the sender is the same through every provider.
      {Chain::any, About::any, {"sender is over rate limit"}, {}, {}, {rpc, "sender_limited"}},
      {Chain::any,
       About::any,
       {"block range", "returned more than", "response too large", "response size", "is too big", "too many results",
        "range too large"},
       {-32614},
       {},
       {rpc, "range_too_large"}},
      {Chain::any,
       About::any,
       {"monthly capacity", "monthly quota", "monthly limit", "/billing", "payment required", "out of credits"},
       {},
       {402},
       {rate_limited, "billing"},
       true},
      // Gas limits are no request limits.
      {Chain::evm, About::sending, {"gas limit", "gas too low", "out of gas"}, {}, {}, {rpc, "tx_rejected"}},
      {Chain::evm, About::running, {"gas limit", "out of gas", "gas required exceeds"}, {}, {}, {rpc, "reverted"}},
      {Chain::any,
       About::any,
       {"rate limit", "ratelimit", "rate-limit", "rate exceeded", "too many requests", "toomanyrequests",
        "limit exceeded", "request limit", "requests per second", "calls per second", "request count exceeded",
        "quota exceeded", "throttl", "\"code\":429"},
       {429, -32029},
       {429},
       {rate_limited, ""},
       true},
      // Solana's own codes (agave, rpc-client-api/src/custom_error.rs).
      {Chain::solana, About::any, {}, {-32005}, {}, {rpc, "unhealthy"}},
      {Chain::solana, About::any, {}, {-32007, -32009}, {}, {rpc, "slot_skipped"}},
      {Chain::solana, About::any, {}, {-32016}, {}, {rpc, "stale"}},
      {Chain::solana, About::any, {}, {-32001, -32004, -32011, -32014}, {}, {rpc, "missing_data"}},
      {Chain::solana, About::any, {}, {-32002}, {}, {rpc, "preflight"}},
      {Chain::solana, About::any, {}, {-32003, -32013}, {}, {rpc, "tx_rejected"}},
      {Chain::solana, About::any, {}, {-32008, -32010}, {}, {rpc, "unsupported"}},
      {Chain::solana, About::any, {}, {-32015}, {}, {rpc, "invalid_params"}},
      // geth answers so for a receipt that it has not indexed yet: not known, rather than not there.
      {Chain::evm, About::any, {"indexing is in progress"}, {}, {}, {rpc, "indexing"}},
      {Chain::any,
       About::any,
       {"missing trie node", "header not found", "unknown block", "block not found", "block not available",
        "transaction not found", "receipt not found", "greater than latest", "after last accepted block",
        "state is not available", "state not available", "historical state", "pruned"},
       {4444},
       {},
       {rpc, "missing_data"}},
      {Chain::any, About::any, {"timeout", "timed out", "deadline exceeded"}, {}, {}, {rpc, "node_timeout"}},
      {Chain::evm,
       About::any,
       {"reverted", "vm exception", "vm execution error", "evm error", "invalid opcode"},
       {3},
       {},
       {rpc, "reverted"}},
      {Chain::evm,
       About::sending,
       {"already known", "alreadyknown", " known transaction", "already imported"},
       {1000},
       {},
       {rpc, "already_known"}},
      {Chain::evm,
       About::sending,
       {"nonce too low", "nonce is too low", "nonce has already been used", "nonce already used", "old nonce"},
       {1},
       {},
       {nonce, "nonce_too_low"}},
      {Chain::evm,
       About::sending,
       {"nonce too high", "nonce is too high", "nonce gap"},
       {2},
       {},
       {nonce, "nonce_too_high"}},
      {Chain::evm, About::sending, {"invalid nonce", "correct nonce", "nonce mismatch"}, {}, {}, {nonce, ""}},
      {Chain::evm, About::sending, {"replacement", "replace existing"}, {}, {}, {underpriced, "replacement"}},
      {Chain::evm,
       About::sending,
       {"underpriced", "less than block base fee", "fee too low", "fee is too low", "gas price too low", "tip too low",
        "fee per gas less", "fee cap less", "maxfeepergas"},
       {},
       {},
       {underpriced, ""}},
      {Chain::evm, About::sending, {"chain id", "chainid", "wrong chain"}, {}, {}, {wrong_chain, ""}},
      {Chain::evm,
       About::sending,
       {"insufficient funds", "insufficient balance", "insufficientfunds", "enough funds", "exceeds account balance"},
       {},
       {},
       {funds, "insufficient_funds"}},
      // While a mined transaction is traced the same words are the node's artefact, and fall through to `server`.
      {Chain::evm,
       About::running,
       {"insufficient funds", "insufficient balance", "enough funds"},
       {},
       {},
       {rpc, "insufficient_funds"}},
      {Chain::evm,
       About::sending,
       {"rejected", "higher priority", "unknown transaction type", "type not supported", "pool is full", "fee cap",
        "exceeds the configured cap"},
       {-32003, 800, 801, 802, 803, 804, 805, 806, 807, 808, 809},
       {},
       {rpc, "tx_rejected"}},
      {Chain::any,
       About::any,
       {"method not found", "not supported", "unsupported method", "unknown method", "method not allowed",
        "does not exist/is not available"},
       {-32601, -32006},
       {405, 415},
       {rpc, "unsupported"}},
      {Chain::evm, About::any, {}, {-32004}, {}, {rpc, "unsupported"}},
      {Chain::any, About::any, {}, {-32602}, {}, {rpc, "invalid_params"}},
      {Chain::any,
       About::any,
       {"api key", "apikey", "api-key", "unauthorized", "unauthorised", "not authorized", "not authorised",
        "authenticated", "authentication", "forbidden", "access denied", "project id"},
       {},
       {},
       {auth, ""}},
      {Chain::any, About::any, {}, {}, {401, 403}, {auth, ""}, true},
      // Codes that say a limit where no words said anything else.
      {Chain::evm, About::any, {}, {-32005, -32007, -32009}, {}, {rate_limited, ""}},
      {Chain::evm, About::any, {}, {-32001}, {}, {rpc, "missing_data"}},
      {Chain::any, About::any, {}, {-32600, -32700}, {}, {rpc, "invalid_request"}},
  };
  return all;
}

bool holds(std::string_view phrase, std::string_view text) {
  if (!phrase.starts_with(' ')) return text.find(phrase) != std::string_view::npos;
  phrase.remove_prefix(1);
  for (std::size_t at = text.find(phrase); at != std::string_view::npos; at = text.find(phrase, at + 1)) {
    if (at == 0 || text[at - 1] < 'a' || text[at - 1] > 'z') return true;
  }
  return false;
}

bool runs_transaction(std::string_view method) {
  return method == "eth_call" || method == "eth_estimateGas" || method == "eth_createAccessList";
}

bool concerns(const Rule& rule, const Complaint& complaint) {
  if (rule.chain == Chain::evm && complaint.chain != ChainKind::evm) return false;
  if (rule.chain == Chain::solana && complaint.chain != ChainKind::solana) return false;
  if (rule.about == About::sending) return sends_transaction(complaint.method);
  return rule.about != About::running || runs_transaction(complaint.method);
}

template <class Value>
bool among(const std::vector<Value>& values, const std::optional<Value>& value) {
  return value && std::find(values.begin(), values.end(), *value) != values.end();
}

bool matches(const Rule& rule, const Complaint& complaint) {
  return concerns(rule, complaint) &&
         (among(rule.codes, complaint.code) || among(rule.statuses, complaint.http_status) ||
          std::any_of(rule.phrases.begin(), rule.phrases.end(),
                      [&](std::string_view phrase) { return holds(phrase, complaint.text); }));
}

std::string_view kind_of_status(long status) {
  if (status >= 300 && status < 400) return "redirect";
  if (status == 405 || status == 415) return "unsupported";
  if (status == 413) return "request_too_large";
  return "";
}

std::optional<double> seconds_of(std::string_view retry_after, double now) {
  if (retry_after.empty()) return std::nullopt;
  double seconds = 0;
  const char* end = retry_after.data() + retry_after.size();
  if (const auto read = std::from_chars(retry_after.data(), end, seconds); read.ec == std::errc() && read.ptr == end) {
    return seconds;
  }
  const time_t date = curl_getdate(std::string(retry_after).c_str(), nullptr);
  return date < 0 ? std::nullopt : std::optional<double>(static_cast<double>(date) - now);
}

}  // namespace

Verdict classify_error(const Complaint& complaint) {
  for (const Rule& rule : rules()) {
    if (matches(rule, complaint)) return rule.verdict;
  }
  return {rpc, "server"};
}

Verdict classify_status(const Complaint& complaint) {
  for (const Rule& rule : rules()) {
    if (rule.without_body && matches(rule, complaint)) return rule.verdict;
  }
  const long status = complaint.http_status.value_or(0);
  if (status >= 200 && status < 300) return {malformed, ""};
  return {http, kind_of_status(status)};
}

bool sends_transaction(std::string_view method) {
  const std::size_t prefix = method.find('_');
  if (prefix != std::string_view::npos) method.remove_prefix(prefix + 1);
  return method.starts_with("send");
}

std::optional<double> asked_wait(std::string_view retry_after, std::optional<double> backoff_seconds, double now) {
  constexpr double shortest = 1;
  constexpr double longest = 366.0 * 86400;
  const std::optional<double> header = seconds_of(retry_after, now);
  if (!header && !backoff_seconds) return std::nullopt;
  const double wait = std::max(header.value_or(0), backoff_seconds.value_or(0));
  if (!std::isfinite(wait)) return std::nullopt;
  return std::clamp(wait, shortest, longest);
}

}  // namespace rpcroute::rpc

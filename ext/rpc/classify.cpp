#include "rpc/classify.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <vector>

#include "text/ascii.hpp"

namespace rpcroute::rpc {
namespace {

enum class Chain { any, evm, solana };

/// Which calls a rule is about: those that send a transaction, those that run one without sending it, all.
enum class About { all, sending, running };

/// A rule holds when one of its phrases is in the text, or one of its codes or statuses is the answer's. Phrases are
/// sought in the text as it is and in the words of its names, so that "nonce too low" is also NonceTooLow and
/// nonce_too_low. A phrase that begins with a space must begin a word: "unknown transaction type" is not a " known
/// transaction". Its `*` stands for up to `widest_gap` characters.
struct Rule {
  Chain chain = Chain::any;
  About about = About::all;
  std::vector<std::string_view> words = {};
  std::vector<std::int64_t> codes = {};
  std::vector<long> statuses = {};
  bool without_body = false;  ///< it also judges answers that are no JSON-RPC
  Verdict verdict;
};

constexpr std::size_t widest_gap = 40;

using enum Chain;
using enum About;
using enum ErrorClass;

/// The first rule that holds decides. The order is that of eRPC's error normaliser (range, billing, rate limit, missing
/// data, timeout, revert, pool verdicts, unsupported, parameters, key), with the clients' and chains' own codes fitted
/// in. Words come before codes, since -32000 to -32016 mean different things to different clients.
const std::vector<Rule> rules = {
    // The sequencer's limit for the sender is the same through every provider.
    {.words = {"sender is over rate limit"}, .verdict = {rpc, "sender_limited"}},
    {.words = {"beyond current head", "beyond the current head"}, .verdict = {rpc, "missing_data"}},
    {.words = {"block range", "returned more than", "response too large", "response size", "is too big",
               "too many results", "range too large"},
     .codes = {-32614},
     .verdict = {rpc, "range_too_large"}},
    {.words = {"monthly*capacity", "monthly*quota", "monthly*limit", "/billing", "payment required", "out of credits"},
     .statuses = {402},
     .without_body = true,
     .verdict = {rate_limited, "billing"}},

    // Gas limits are no request limits, and a price for each unit of gas is no amount of gas.
    {.chain = evm, .about = sending, .words = {"per gas too low"}, .verdict = {underpriced, ""}},
    {.chain = evm,
     .about = sending,
     .words = {"gas limit", "gas too low", "gas but got", "out of gas"},
     .verdict = {rpc, "tx_rejected"}},
    {.chain = evm,
     .about = running,
     .words = {"gas limit", "out of gas", "gas required exceeds"},
     .verdict = {rpc, "reverted"}},
    // Nor are the limits of the pool, which are the same through every provider.
    {.chain = evm,
     .about = sending,
     .words = {"in flight transaction limit", "inflight transaction limit", "account limit exceeded", "txpool*limit",
               "tx pool*limit", "transaction pool*limit"},
     .verdict = {rpc, "tx_rejected"}},
    {.words = {"requests per second", "calls per second", "units per second"},
     .without_body = true,
     .verdict = {rate_limited, ""}},
    // What comes back the next day, not the next second.
    {.words = {"daily*limit",       "daily*quota",      "daily*count",      "daily*exceeded", "exceeded*daily",
               "limit*daily",       "requests per day", "calls per day",    "limit*per day",  "per day*limit",
               "compute units*day", "24 hour*limit",    "limit*24 hour",    "24-hour*limit",  "limit*24-hour",
               "24h*limit",         "limit*24h",        "exceeded*24 hour", "quota*exceeded", "exceeded*quota"},
     .without_body = true,
     .verdict = {rate_limited, "quota"}},
    {.words = {"rate limit", "ratelimit", "rate exceeded", "too many requests", "toomanyrequests", "limit exceeded",
               "request limit", "request count exceeded", "throttl", "\"code\":429"},
     .codes = {429, -32029},
     .statuses = {429},
     .without_body = true,
     .verdict = {rate_limited, ""}},

    // Solana's own codes (agave, rpc-client-api/src/custom_error.rs).
    {.chain = solana, .codes = {-32005}, .verdict = {rpc, "unhealthy"}},
    {.chain = solana, .codes = {-32007, -32009}, .verdict = {rpc, "slot_skipped"}},
    {.chain = solana, .codes = {-32016}, .verdict = {rpc, "stale"}},
    {.chain = solana, .codes = {-32001, -32004, -32011, -32014}, .verdict = {rpc, "missing_data"}},
    {.chain = solana, .codes = {-32002}, .verdict = {rpc, "preflight"}},
    {.chain = solana, .codes = {-32003, -32013}, .verdict = {rpc, "tx_rejected"}},
    {.chain = solana,
     .words = {"have been disabled", "has been disabled"},
     .codes = {-32008, -32010, 410},
     .statuses = {410},
     .verdict = {rpc, "unsupported"}},
    {.chain = solana, .codes = {-32015}, .verdict = {rpc, "invalid_params"}},

    // geth's answer for a receipt that it has not indexed yet: not known, rather than not there.
    {.chain = evm, .words = {"indexing is in progress"}, .verdict = {rpc, "indexing"}},
    {.words = {"missing trie node", "header not found", "unknown block", "block not found", "block not available",
               "transaction not found", "receipt not found", "greater than latest", "after last accepted block",
               "state is not available", "state not available", "historical state", "pruned", "due to pruning"},
     .codes = {4444},
     .verdict = {rpc, "missing_data"}},
    {.words = {"timeout", "timed out", "deadline exceeded"}, .verdict = {rpc, "node_timeout"}},
    {.chain = evm,
     .words = {"reverted", "vm exception", "vm execution error", "evm error", "invalid opcode"},
     .codes = {3},
     .verdict = {rpc, "reverted"}},

    // The pool's verdicts on a transaction that was sent.
    {.chain = evm,
     .about = sending,
     .words = {"already known", "alreadyknown", " known transaction", "already imported", "existing tx with same hash",
               "existing tx with the same hash", "duplicate hash"},
     .codes = {1000},
     .verdict = {rpc, "already_known"}},
    {.chain = evm,
     .about = sending,
     .words = {"nonce too low", "nonce is too low", "nonce has already been used", "nonce already used", "old nonce"},
     .codes = {1},
     .verdict = {nonce, "nonce_too_low"}},
    {.chain = evm,
     .about = sending,
     .words = {"nonce too high", "nonce is too high", "nonce gap", "gapped nonce"},
     .codes = {2},
     .verdict = {nonce, "nonce_too_high"}},
    {.chain = evm,
     .about = sending,
     .words = {"invalid nonce", "correct nonce", "nonce mismatch", "not current nonce", "account sequence"},
     .verdict = {nonce, ""}},
    {.chain = evm,
     .about = sending,
     .words = {"replacement", "replace existing", "replace underpriced"},
     .verdict = {underpriced, "replacement"}},
    {.chain = evm,
     .about = sending,
     .words = {"underpriced", "less than block base fee", "fee too low", "fee is too low", "gas price too low",
               "gas price below", "tip too low", "fee per gas less", "fee cap less", "maxfeepergas"},
     .verdict = {underpriced, ""}},
    {.chain = evm, .about = sending, .words = {"chain id", "chainid", "wrong chain"}, .verdict = {wrong_chain, ""}},
    {.chain = evm,
     .about = sending,
     .words = {"insufficient funds", "insufficient balance", "insufficientfunds", "enough funds",
               "exceeds account balance"},
     .verdict = {funds, "insufficient_funds"}},
    // While a mined transaction is traced the same words are the node's artefact, and fall through to `server`.
    {.chain = evm,
     .about = running,
     .words = {"insufficient funds", "insufficient balance", "enough funds"},
     .verdict = {rpc, "insufficient_funds"}},
    {.chain = evm,
     .about = sending,
     .words = {"rejected",
               "higher priority",
               "higher tip",
               "unknown transaction type",
               "type not supported",
               "type not activated",
               "supported tx type",
               "unsupported transaction type",
               "pool is full",
               "pool overflow",
               "fee cap",
               "exceeds the configured cap",
               "int256",
               "uint*overflow",
               "intrinsic gas",
               "higher than max fee per gas",
               "negative value",
               "oversized",
               "max tx size",
               "rlp too long",
               "init code*large",
               "initcode*large",
               "initcode size",
               "invalid sender",
               "sender is contract",
               "not an eoa",
               "spammer",
               "disallowed to send",
               "already reserved",
               "of other type",
               "has pending tx"},
     .codes = {-32003, -32010, 800, 801, 802, 803, 804, 805, 806, 807, 808, 809},
     .verdict = {rpc, "tx_rejected"}},

    {.words = {"method not found", "not supported", "unsupported method", "unknown method", "method not allowed",
               "does not exist/is not available"},
     .codes = {-32601, -32006},
     .statuses = {405, 415},
     .verdict = {rpc, "unsupported"}},
    {.chain = evm, .codes = {-32004}, .verdict = {rpc, "unsupported"}},
    {.codes = {-32602}, .verdict = {rpc, "invalid_params"}},
    {.words = {"api key", "apikey", "unauthorized", "unauthorised", "not authorized", "not authorised", "authenticated",
               "authentication", "forbidden", "access denied", "project id"},
     .verdict = {auth, ""}},
    {.statuses = {401, 403}, .without_body = true, .verdict = {auth, ""}},

    // Codes that say a limit where no words said anything else; to Besu one of them is a price that is too low.
    {.chain = evm, .about = sending, .codes = {-32009}, .verdict = {underpriced, ""}},
    {.chain = evm, .codes = {-32005, -32007, -32009}, .verdict = {rate_limited, ""}},
    {.chain = evm, .codes = {-32001}, .verdict = {rpc, "missing_data"}},
    {.codes = {-32600, -32700}, .verdict = {rpc, "invalid_request"}},
};

/// Whether `parts`, separated by `*`, follow at the front of `text`, each after at most `widest_gap` characters.
bool follow(std::string_view parts, std::string_view text) {
  while (!parts.empty()) {
    const std::string_view part = parts.substr(0, parts.find('*'));
    parts.remove_prefix(std::min(part.size() + 1, parts.size()));
    const std::size_t at = text.substr(0, widest_gap + part.size()).find(part);
    if (at == std::string_view::npos) return false;
    text.remove_prefix(at + part.size());
  }
  return true;
}

bool holds(std::string_view phrase, std::string_view text) {
  const bool begins_word = phrase.starts_with(' ');
  if (begins_word) phrase.remove_prefix(1);
  const std::string_view first = phrase.substr(0, phrase.find('*'));
  const std::string_view rest = phrase.substr(std::min(first.size() + 1, phrase.size()));
  for (std::size_t at = text.find(first); at != std::string_view::npos; at = text.find(first, at + 1)) {
    if (begins_word && at > 0 && text[at - 1] >= 'a' && text[at - 1] <= 'z') continue;
    if (follow(rest, text.substr(at + first.size()))) return true;
  }
  return false;
}

/// What phrases are sought in: the text, and on another line the words of its names.
std::string searched(std::string_view text) {
  const std::string plain = text::lower(text);
  const std::string words = text::lower(text::spaced(text));
  return words == plain ? plain : plain + '\n' + words;
}

bool runs_transaction(std::string_view method) {
  return method == "eth_call" || method == "eth_estimateGas" || method == "eth_createAccessList";
}

bool concerns(const Rule& rule, const Complaint& complaint) {
  if (rule.chain == Chain::evm && complaint.chain != chain::ChainKind::evm) return false;
  if (rule.chain == Chain::solana && complaint.chain != chain::ChainKind::solana) return false;
  if (rule.about == About::sending) return sends_transaction(complaint.method);
  return rule.about != About::running || runs_transaction(complaint.method);
}

template <class Value>
bool among(const std::vector<Value>& values, const std::optional<Value>& value) {
  return value && std::find(values.begin(), values.end(), *value) != values.end();
}

bool matches(const Rule& rule, const Complaint& complaint, std::string_view text) {
  return concerns(rule, complaint) &&
         (among(rule.codes, complaint.code) || among(rule.statuses, complaint.http_status) ||
          std::any_of(rule.words.begin(), rule.words.end(),
                      [&](std::string_view phrase) { return holds(phrase, text); }));
}

std::string_view kind_of_status(long status) {
  if (status >= 300 && status < 400) return "redirect";
  if (status == 405 || status == 410 || status == 415) return "unsupported";
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
  const std::string text = searched(complaint.text);
  for (const Rule& rule : rules) {
    if (matches(rule, complaint, text)) return rule.verdict;
  }
  return {rpc, "server"};
}

Verdict classify_status(const Complaint& complaint) {
  const std::string text = searched(complaint.text);
  for (const Rule& rule : rules) {
    if (rule.without_body && matches(rule, complaint, text)) return rule.verdict;
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

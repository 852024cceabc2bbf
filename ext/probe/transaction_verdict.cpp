#include "probe/transaction_verdict.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string_view>

#include "rpc/text.hpp"

namespace rpcroute::probe {
namespace {

using rpc::ErrorClass;

bool is_letter(char c) {
  return c >= 'a' && c <= 'z';
}

/// Whether `text` holds one of `phrases`, none of which begins inside a word: "known transaction" is not in "unknown
/// transaction type". All lower case.
bool says(std::string_view text, std::initializer_list<std::string_view> phrases) {
  return std::any_of(phrases.begin(), phrases.end(), [&](std::string_view phrase) {
    for (auto at = text.find(phrase); at != std::string_view::npos; at = text.find(phrase, at + 1)) {
      if (at == 0 || !is_letter(text[at - 1])) return true;
    }
    return false;
  });
}

bool says_known(std::string_view text) {
  return says(text, {"already known", "alreadyknown", "already imported", "known transaction", "already in mempool",
                     "already in the mempool", "already in pool", "already in the pool", "already exists in"});
}

bool says_nonce_used(std::string_view text) {
  return says(text, {"nonce too low", "nonce is too low", "nonce has already been used", "oldnonce", "old nonce"});
}

/// The classes of tx_probe. In this order: "insufficient funds for gas * price" speaks of prices, too.
ErrorClass class_of(std::string_view text) {
  if (says(text, {"insufficient funds", "insufficient balance", "insufficientfunds", "enough funds",
                  "upfront cost exceeds"})) {
    return ErrorClass::funds;
  }
  if (says(text, {"underpriced", "fee too low", "feetoolow", "gas price too low", "less than block base fee",
                  "less than the block base fee", "below the block base fee", "gas price below"})) {
    return ErrorClass::underpriced;
  }
  if (says(text, {"chain id", "chainid", "chain_id"})) return ErrorClass::wrong_chain;
  if (says(text, {"nonce"})) return ErrorClass::nonce;
  return ErrorClass::rpc;
}

/// What no node says of a transaction that it took.
bool says_no(std::string_view text) {
  return says(text, {"gas too low",
                     "intrinsic gas",
                     "exceeds block gas limit",
                     "gas limit",
                     "out of gas",
                     "transaction type",
                     "not supported",
                     "unsupported",
                     "invalid sender",
                     "invalid signature",
                     "invalid transaction",
                     "rlp:",
                     "method not found",
                     "unknown account",
                     "authentication needed",
                     "priority fee",
                     "txpool is full",
                     "pool is full",
                     "denied",
                     "forbidden"});
}

bool is_refusing_code(std::int64_t code) {
  return code == -32601 || code == -32602 || code == -32003 || code == -32700;
}

Verdict judge_error_object(const rpc::Answer& answer) {
  const rpc::Failure& failure = *answer.failure;
  const std::string text = rpc::lower(failure.message);
  if (says_known(text)) return {Acceptance::accepted, {}, {}};
  const ErrorClass error_class = class_of(text);
  if (says_nonce_used(text)) return {Acceptance::nonce_used, ErrorClass::nonce, failure.message};
  const bool clear =
      error_class != ErrorClass::rpc || says_no(text) || (answer.error_code && is_refusing_code(*answer.error_code));
  return {clear ? Acceptance::refused : Acceptance::unclear, error_class, failure.message};
}

bool is_client_error(const rpc::Answer& answer) {
  return answer.http_status && *answer.http_status >= 400 && *answer.http_status < 500 && *answer.http_status != 408;
}

}  // namespace

Verdict judge_send(const rpc::Answer& answer) {
  if (!answer.failure) return {Acceptance::accepted, {}, {}};
  const rpc::Failure& failure = *answer.failure;
  switch (failure.error_class) {
    case ErrorClass::config:
    case ErrorClass::dns:
    case ErrorClass::tls:
      return {Acceptance::unsent, failure.error_class, failure.message};
    case ErrorClass::connect:
      // "closed" and "reset" happen to connections that stood.
      return {failure.kind.empty() || failure.kind == "refused" ? Acceptance::unsent : Acceptance::unclear,
              failure.error_class, failure.message};
    case ErrorClass::rate_limited:
    case ErrorClass::auth:
      return {Acceptance::refused, failure.error_class, failure.message};
    case ErrorClass::http:
      return {is_client_error(answer) ? Acceptance::refused : Acceptance::unclear, failure.error_class,
              failure.message};
    case ErrorClass::rpc:
    case ErrorClass::nonce:
    case ErrorClass::underpriced:
    case ErrorClass::funds:
    case ErrorClass::wrong_chain:
      return judge_error_object(answer);
    default:
      return {Acceptance::unclear, failure.error_class, failure.message};
  }
}

bool is_indexing(const rpc::Failure& failure) {
  return rpc::lower(failure.message).find("indexing is in progress") != std::string::npos;
}

}  // namespace rpcroute::probe

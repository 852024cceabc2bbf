#include "transaction/life/verdict.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "text/ascii.hpp"

namespace rpcroute::transaction {
namespace {

using rpc::ErrorClass;

/// Kinds of complaint after which no node has taken the transaction. All others ("server", "node_timeout", …) say only
/// that something went wrong.
constexpr std::array<std::string_view, 6> refusing_kinds{"tx_rejected",     "unsupported",    "invalid_params",
                                                         "invalid_request", "sender_limited", "reverted"};

/// How nodes say that they have no receipt, where the specification has null.
constexpr std::array<std::string_view, 6> words_of_absence{"not found", "no receipt",     "unknown transaction",
                                                           "pending",   "does not exist", "not yet"};

bool refuses(std::string_view kind) {
  return std::find(refusing_kinds.begin(), refusing_kinds.end(), kind) != refusing_kinds.end();
}

Acceptance of_complaint(const rpc::Failure& failure) {
  switch (failure.error_class) {
    case ErrorClass::rate_limited:
    case ErrorClass::auth:
    case ErrorClass::funds:
    case ErrorClass::wrong_chain:
      return Acceptance::refused;
    case ErrorClass::underpriced:  // 0xPolygon/bor#324: "replacement transaction underpriced", and mined
      return failure.kind == "replacement" ? Acceptance::doubted : Acceptance::refused;
    case ErrorClass::nonce:  // not the one that is due: by this very transaction, perhaps
      return failure.kind == "nonce_too_high" ? Acceptance::refused : Acceptance::doubted;
    case ErrorClass::rpc:
      if (failure.kind == "already_known") return Acceptance::accepted;
      return refuses(failure.kind) ? Acceptance::refused : Acceptance::doubted;
    default:
      return Acceptance::doubted;
  }
}

/// A gateway that turned the request away, in HTTP's own words.
bool is_turned_away(const rpc::Answer& answer) {
  const auto error_class = answer.failure->error_class;
  const bool by_status =
      answer.http_status && *answer.http_status >= 400 && *answer.http_status < 500 && *answer.http_status != 408;
  return by_status && (error_class == ErrorClass::http || error_class == ErrorClass::rate_limited ||
                       error_class == ErrorClass::auth);
}

}  // namespace

Acceptance judge_send(const rpc::Answer& answer) {
  if (!answer.failure) return Acceptance::accepted;
  if (answer.complained) return of_complaint(*answer.failure);
  if (!answer.request_left) return Acceptance::unsent;
  return is_turned_away(answer) ? Acceptance::refused : Acceptance::unclear;
}

bool was_known(const rpc::Answer& answer) {
  return answer.failure && (answer.failure->kind == "already_known" || answer.failure->kind == "nonce_too_low");
}

bool is_not_yet(const rpc::Answer& answer) {
  if (!answer.complained || answer.failure->error_class != ErrorClass::rpc) return false;
  const std::string& kind = answer.failure->kind;
  if (kind == "indexing" || kind == "missing_data") return true;
  const std::string words = text::lower(answer.failure->message);
  return kind == "server" && std::any_of(words_of_absence.begin(), words_of_absence.end(),
                                         [&](std::string_view word) { return words.find(word) != std::string::npos; });
}

}  // namespace rpcroute::transaction

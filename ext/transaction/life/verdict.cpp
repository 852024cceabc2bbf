#include "transaction/life/verdict.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace rpcroute::transaction {
namespace {

using rpc::ErrorClass;

/// Kinds of complaint after which no node has taken the transaction. All others ("server", "node_timeout", …) say only
/// that something went wrong.
constexpr std::array<std::string_view, 6> refusing_kinds{"tx_rejected",     "unsupported",    "invalid_params",
                                                         "invalid_request", "sender_limited", "reverted"};

bool refuses(std::string_view kind) {
  return std::find(refusing_kinds.begin(), refusing_kinds.end(), kind) != refusing_kinds.end();
}

bool is_client_error(const rpc::Answer& answer) {
  return answer.http_status && *answer.http_status >= 400 && *answer.http_status < 500 && *answer.http_status != 408;
}

Acceptance acceptance_of(const rpc::Answer& answer) {
  const rpc::Failure& failure = *answer.failure;
  switch (failure.error_class) {
    case ErrorClass::config:
    case ErrorClass::dns:
    case ErrorClass::tls:
      return Acceptance::unsent;
    case ErrorClass::connect:
      // "closed" and "reset" happen to connections that stood.
      return failure.kind == "closed" || failure.kind == "reset" ? Acceptance::unclear : Acceptance::unsent;
    case ErrorClass::rate_limited:
    case ErrorClass::auth:
    case ErrorClass::underpriced:
    case ErrorClass::funds:
    case ErrorClass::wrong_chain:
      return Acceptance::refused;
    case ErrorClass::nonce:
      return failure.kind == "nonce_too_low" ? Acceptance::nonce_used : Acceptance::refused;
    case ErrorClass::http:
      return is_client_error(answer) ? Acceptance::refused : Acceptance::unclear;
    case ErrorClass::rpc:
      if (failure.kind == "already_known") return Acceptance::accepted;
      return refuses(failure.kind) ? Acceptance::refused : Acceptance::unclear;
    default:
      return Acceptance::unclear;
  }
}

}  // namespace

Verdict judge_send(const rpc::Answer& answer) {
  if (!answer.failure) return {Acceptance::accepted, {}, {}};
  return {acceptance_of(answer), answer.failure->error_class, answer.failure->message};
}

bool is_indexing(const rpc::Failure& failure) {
  return failure.kind == "indexing";
}

}  // namespace rpcroute::transaction

#include "rpc/answer.hpp"

#include <chrono>

#include "rpc/classify.hpp"
#include "rpc/json_rpc.hpp"
#include "text/ascii.hpp"

namespace rpcroute::rpc {
namespace {

/// The part of a body that is searched for words and shown.
constexpr std::size_t max_words = std::size_t{16} << 10;

/// What a body that is no JSON-RPC says: nothing, when it is a web page, whose menus talk of billing and limits.
std::string_view words_of(std::string_view body) {
  const std::string_view text = text::trimmed(body).substr(0, max_words);
  return text.starts_with('<') ? std::string_view() : text;
}

Failure failure_of(const RpcError& error, const HttpReply& reply, const Asked& asked) {
  const Verdict verdict = classify_error({asked.chain, asked.method, reply.status, error.code, error.text});
  std::string words = error.message.empty() ? std::string(error.data) : error.message;
  if (text::trimmed(words).empty()) words = "error " + (error.code ? std::to_string(*error.code) : "without a code");
  return {verdict.error_class, std::string(verdict.kind),
          redact(std::string_view(words).substr(0, max_words), asked.endpoint),
          asked_wait(reply.retry_after, error.backoff_seconds, reply.timestamp)};
}

Failure failure_of(const NotJsonRpc& answer, const HttpReply& reply, const Asked& asked) {
  const std::string_view words = words_of(reply.body);
  const Verdict verdict = classify_status({asked.chain, asked.method, reply.status, std::nullopt, words});
  std::string message = "HTTP " + std::to_string(reply.status.value_or(0));
  if (verdict.error_class == ErrorClass::malformed) {
    message = reply.body_is_intact ? answer.problem : "the answer is not encoded as it says";
  } else if (!words.empty()) {
    message += ": " + std::string(words);
  }
  return {verdict.error_class, std::string(verdict.kind), redact(message, asked.endpoint),
          asked_wait(reply.retry_after, std::nullopt, reply.timestamp)};
}

/// A node may hand the revert of an eth_call out as its result: the ABI encoding of Error(string), whose 4-byte
/// selector makes its length no multiple of 32 bytes as every other return data's is.
bool is_revert(std::string_view method, std::string_view result) {
  return method == "eth_call" && result.starts_with("\"0x08c379a0") && (result.size() - 4) % 64 == 8;
}

void read_body(const HttpReply& reply, const Asked& asked, const text::Pulse& pulse, Answer& answer) {
  const auto decoded = decode_response(reply.body, asked.id, pulse);
  if (const auto* result = std::get_if<RpcResult>(&decoded)) {
    answer.result = asked.endpoint.secrets.scrubbed_json(std::string(result->json));
    if (is_revert(asked.method, result->json)) {
      answer.failure = Failure{ErrorClass::rpc, "reverted", "execution reverted", std::nullopt};
      answer.error_data = std::move(answer.result);
      answer.result.clear();
    }
  } else if (const auto* error = std::get_if<RpcError>(&decoded)) {
    answer.complained = true;
    answer.failure = failure_of(*error, reply, asked);
    answer.error_code = error->code;
    answer.error_data = asked.endpoint.secrets.scrubbed_json(std::string(error->data));
  } else {
    answer.failure = failure_of(std::get<NotJsonRpc>(decoded), reply, asked);
  }
}

}  // namespace

Answer read_answer(HttpReply reply, const Asked& asked, const text::Pulse& pulse) {
  Answer answer;
  answer.timestamp = reply.timestamp;
  answer.started = reply.started;
  answer.finished = reply.finished;
  answer.http_status = reply.status;
  answer.request_left = reply.request_left;
  answer.response_bytes = reply.response_bytes;
  if (reply.failure) {
    answer.failure = std::move(reply.failure);
    answer.failure->message = redact(answer.failure->message, asked.endpoint);
    answer.failure->retry_after_sec = asked_wait(reply.retry_after, std::nullopt, reply.timestamp);
    return answer;
  }
  answer.latency_ms = reply.latency_ms;
  answer.setup_ms = reply.setup_ms;
  answer.total_ms = reply.latency_ms + reply.setup_ms;
  read_body(reply, asked, pulse, answer);
  return answer;
}

Answer unasked(Failure failure) {
  Answer answer;
  answer.timestamp = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  answer.started = answer.finished = Clock::now();
  answer.failure = std::move(failure);
  return answer;
}

}  // namespace rpcroute::rpc

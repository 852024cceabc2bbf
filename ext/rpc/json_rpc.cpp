#include "rpc/json_rpc.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "text/ascii.hpp"
#include "text/json.hpp"

namespace rpcroute::rpc {
namespace {

/// Data larger than this is no complaint, and deep nesting would make its search slow.
constexpr std::size_t max_searched = std::size_t{64} << 10;

template <class Number>
std::optional<Number> number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string_view unquoted(std::string_view json) {
  return json.size() >= 2 && json.front() == '"' ? json.substr(1, json.size() - 2) : json;
}

enum class Id { ours, none, another };

Id compare_id(std::string_view json, std::uint64_t id) {
  if (json.empty() || json == "null") return Id::none;
  const std::string_view text = unquoted(json);
  if (number<std::uint64_t>(text) == id) return Id::ours;
  return number<double>(text) == static_cast<double>(id) ? Id::ours : Id::another;  // 7.0, as Lua writes it
}

/// Collects the texts and the wait that an error's data holds, whatever its shape.
void search_data(std::string_view json, RpcError& error) {
  if (json.empty()) return;
  if (json.front() == '"') {
    error.text += ' ' + text::json_text(json);
  } else if (json.front() == '[') {
    for (const std::string_view element : text::json_elements(json)) search_data(element, error);
  } else if (json.front() == '{') {
    for (const text::JsonMember& member : text::json_members(json)) {
      if (member.name == "backoff_seconds") error.backoff_seconds = number<double>(unquoted(member.value));
      search_data(member.value, error);
    }
  }
}

RpcError read_error(std::string_view json) {
  RpcError error;
  if (json.front() == '"') {
    error.message = text::json_text(json);
  } else if (json.front() == '{') {
    for (const text::JsonMember& member : text::json_members(json)) {
      const bool is_text = member.value.front() == '"';
      if (member.name == "code") error.code = number<std::int64_t>(unquoted(member.value));
      if (member.name == "message") error.message = is_text ? text::json_text(member.value) : std::string(member.value);
      if (member.name == "data" && member.value != "null") error.data = member.value;
    }
  }
  error.text = error.message;
  if (error.data.size() <= max_searched) search_data(error.data, error);
  if (error.text.size() > 2 * max_searched) error.text.resize(2 * max_searched);
  return error;
}

struct Envelope {
  std::string_view id;
  std::string_view result;
  std::string_view error;
};

Envelope read_envelope(std::string_view object) {
  Envelope envelope;
  for (const text::JsonMember& member : text::json_members(object)) {
    if (member.name == "id") envelope.id = member.value;
    if (member.name == "result") envelope.result = member.value;
    if (member.name == "error") envelope.error = member.value;
  }
  if (envelope.error == "null" || envelope.error == "false") envelope.error = {};
  if (!envelope.error.empty() && envelope.result == "null") envelope.result = {};
  return envelope;
}

}  // namespace

std::string encode_request(std::uint64_t id, std::string_view method, std::string_view params) {
  const std::string_view text = text::trimmed(params);
  if (text.empty() || (text.front() != '[' && text.front() != '{') || text::json_problem(text)) {
    throw std::invalid_argument("params must be a JSON array or object");
  }
  return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":)" + text::json_literal(method) +
         R"(,"params":)" + std::string(text) + "}";
}

std::variant<RpcResult, RpcError, NotJsonRpc> decode_response(std::string_view body, std::uint64_t id) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (body.starts_with(byte_order_mark)) body.remove_prefix(byte_order_mark.size());
  if (const auto problem = text::json_problem(body)) return NotJsonRpc{"the answer is not JSON: " + *problem};
  const std::string_view object = text::trimmed(body);
  if (object.front() != '{') return NotJsonRpc{"the answer is not a JSON-RPC object"};
  const Envelope envelope = read_envelope(object);
  const Id match = compare_id(envelope.id, id);
  if (match == Id::another) return NotJsonRpc{"the answer has another id"};
  if (!envelope.error.empty() && !envelope.result.empty()) return NotJsonRpc{"the answer has both result and error"};
  if (!envelope.error.empty()) return read_error(envelope.error);
  if (envelope.result.empty()) return NotJsonRpc{"the answer has neither result nor error"};
  if (match == Id::none) return NotJsonRpc{"the answer has no id"};
  return RpcResult{envelope.result};
}

}  // namespace rpcroute::rpc

#include "rpc/json_rpc.hpp"

#include <charconv>
#include <stdexcept>

namespace rpcroute::rpc {
namespace {

using text::Json;
using text::JsonMember;

/// Data larger than this is no complaint, and deep nesting would make its search slow.
constexpr std::size_t max_searched = std::size_t{64} << 10;

template <class Number>
std::optional<Number> number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// A number's digits, bare or as a text.
std::string_view digits_of(const Json& json) {
  return json.is_text() ? json.text() : json.source();
}

enum class Id { ours, none, another };

Id compare_id(const Json& json, std::uint64_t id) {
  if (!json.is_given()) return Id::none;
  const std::string_view digits = digits_of(json);
  if (number<std::uint64_t>(digits) == id) return Id::ours;
  return number<double>(digits) == static_cast<double>(id) ? Id::ours : Id::another;  // 7.0, as Lua writes it
}

/// Collects the texts and the wait that an error's data holds, whatever its shape.
void search_data(const Json& json, RpcError& error) {
  if (json.is_text()) (error.text += ' ') += json.text();
  for (const Json element : json.elements()) search_data(element, error);
  for (const JsonMember& member : json.members()) {
    if (member.name == "backoff_seconds") error.backoff_seconds = number<double>(digits_of(member.value));
    search_data(member.value, error);
  }
}

}  // namespace

RpcError read_error(const Json& json) {
  RpcError error;
  error.code = number<std::int64_t>(digits_of(json["code"]));
  const Json message = json.is_text() ? json : json["message"];
  error.message = message.is_text() ? message.text() : message.source();
  error.text = error.message;
  if (const Json data = json["data"]; data.is_given()) {
    error.data = data.source();
    if (error.data.size() <= max_searched) search_data(data, error);
  }
  if (error.text.size() > 2 * max_searched) error.text.resize(2 * max_searched);
  return error;
}

std::string encode_request(std::uint64_t id, std::string_view method, std::string_view params) {
  const text::JsonTree tree(params);
  if (!tree.root().is_array() && !tree.root().is_object()) {
    throw std::invalid_argument("params must be a JSON array or object");
  }
  return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":)" + text::json_literal(method) +
         R"(,"params":)" + std::string(tree.root().source()) + "}";
}

std::variant<RpcResult, RpcError, NotJsonRpc> decode_response(std::string_view body, std::uint64_t id,
                                                              const text::Pulse& pulse) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (body.starts_with(byte_order_mark)) body.remove_prefix(byte_order_mark.size());
  const text::JsonTree tree(body, text::Budget(pulse));
  if (!tree.problem().empty()) return NotJsonRpc{"the answer is not JSON: " + tree.problem()};
  const Json answer = tree.root();
  if (!answer.is_object()) return NotJsonRpc{"the answer is not a JSON-RPC object"};
  const Id match = compare_id(answer["id"], id);
  if (match == Id::another) return NotJsonRpc{"the answer has another id"};
  const Json error = answer["error"];
  const Json result = answer["result"];
  if (error.is_given() && error.boolean() != false) {
    if (result.is_given()) return NotJsonRpc{"the answer has both result and error"};
    return read_error(error);
  }
  if (result.is(text::JsonType::absent)) return NotJsonRpc{"the answer has neither result nor error"};
  if (match == Id::none) return NotJsonRpc{"the answer has no id"};
  return RpcResult{result.source()};
}

}  // namespace rpcroute::rpc

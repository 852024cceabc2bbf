#include "chain/height.hpp"

#include "chain/method.hpp"
#include "chain/quantity.hpp"
#include "text/json.hpp"

namespace rpcroute::chain {
namespace {

using text::Json;
using text::JsonType;

Height malformed(std::string problem) {
  return {std::nullopt, true, std::move(problem)};
}

Height none() {
  return {};
}

Height quantity_height(const Json& value, std::string_view what) {
  const auto height = parse_quantity(value);
  if (height) return {*height, false, {}};
  return malformed(std::string(what) + (value.is_text() ? " is not a quantity below 2^63" : " is not a quantity"));
}

Height integer_height(const Json& value, std::string_view what) {
  const auto height = value.integer();
  if (height && *height >= 0) return {*height, false, {}};
  return malformed(std::string(what) + " is not an integer in 0 to 2^63-1");
}

Height block_height(const Json& value) {
  if (value.is_null()) return none();  // an unknown block
  if (!value.is_object()) return malformed("the result is not a block");
  const Json number = value["number"];
  if (number.is(JsonType::absent)) return malformed("the block has no number");
  return number.is_null() ? none() : quantity_height(number, "the block's number");  // a pending block has none
}

Height syncing_height(const Json& value) {
  if (value.boolean() == false) return none();
  if (!value.is_object()) return malformed("the result is neither false nor an object");
  const Json current = value["currentBlock"];
  return current.is(JsonType::absent) ? none() : quantity_height(current, "currentBlock");
}

Height enveloped_height(const Json& value) {
  if (!value.is_object()) return malformed("the result is not an object with a context");
  const Json context = value["context"];
  if (!context.is_object()) return malformed("the result has no context");
  const Json slot = context["slot"];
  return slot.is(JsonType::absent) ? malformed("the context has no slot") : integer_height(slot, "context.slot");
}

bool is_hexadecimal(const Json& value) {
  const std::string_view text = value.text();
  return text.starts_with("0x") && text.substr(2).find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

Height checked(bool fits, std::string_view wanted) {
  return fits ? none() : malformed("the result is not " + std::string(wanted));
}

Height height_in(const Json& value, Shape shape) {
  switch (shape) {
    case Shape::any:
      return none();
    case Shape::text:
      return checked(value.is_text(), "a text");
    case Shape::quantity:
      return checked(value.unsigned_integer() || (value.text().size() > 2 && is_hexadecimal(value)), "a quantity");
    case Shape::data:
      return checked(value.is_null() || is_hexadecimal(value), "hexadecimal data");
    case Shape::array:
      return checked(value.is_array(), "an array");
    case Shape::integer:
      return checked(value.unsigned_integer().has_value(), "an unsigned integer");
    case Shape::height_quantity:
      return quantity_height(value, "the result");
    case Shape::height_integer:
      return integer_height(value, "the result");
    case Shape::block:
      return block_height(value);
    case Shape::syncing:
      return syncing_height(value);
    case Shape::enveloped:
      return enveloped_height(value);
  }
  return none();
}

}  // namespace

Height height_of(ChainKind kind, std::string_view method, std::string_view result_json) {
  const Method* known = find_read_method(kind, method);
  if (known == nullptr || known->shape == Shape::any) return none();
  const text::JsonTree tree(result_json);
  return tree.problem().empty() ? height_in(tree.root(), known->shape) : malformed("the result cannot be read");
}

std::string_view default_height_method(ChainKind kind) {
  return kind == ChainKind::evm ? "eth_blockNumber" : "getSlot";
}

bool is_read_method(ChainKind kind, std::string_view method) {
  return find_read_method(kind, method) != nullptr;
}

bool is_read_method(std::string_view method) {
  return is_read_method(ChainKind::evm, method) || is_read_method(ChainKind::solana, method);
}

std::string default_params(ChainKind kind, std::string_view method) {
  const Method* known = find_read_method(kind, method);
  return known == nullptr ? "[]" : std::string(known->params);
}

HeadSubscription head_subscription(ChainKind kind) {
  if (kind == ChainKind::evm) return {"eth_subscribe", R"(["newHeads"])"};
  return {"slotSubscribe", "[]"};
}

Height height_of_head(ChainKind kind, std::string_view result_json) {
  const text::JsonTree tree(result_json);
  if (!tree.root().is_object()) return malformed("the head is not an object");
  const Json height = tree.root()[kind == ChainKind::evm ? "number" : "slot"];
  if (height.is(JsonType::absent)) return malformed("the head has no height");
  return kind == ChainKind::evm ? quantity_height(height, "the head's number")
                                : integer_height(height, "the head's slot");
}

}  // namespace rpcroute::chain

#include "chain/height.hpp"

#include <rapidjson/document.h>

#include "chain/method.hpp"
#include "chain/quantity.hpp"

namespace rpcroute::chain {
namespace {

using rapidjson::Value;

Height malformed(std::string problem) {
  return {std::nullopt, true, std::move(problem)};
}

Height none() {
  return {};
}

Height quantity_height(const Value& value, std::string_view what) {
  const auto height = parse_quantity(value);
  if (height) return {*height, false, {}};
  return malformed(std::string(what) + (value.IsString() ? " is not a quantity below 2^63" : " is not a quantity"));
}

Height integer_height(const Value& value, std::string_view what) {
  if (value.IsInt64() && value.GetInt64() >= 0) return {value.GetInt64(), false, {}};
  return malformed(std::string(what) + " is not an integer in 0 to 2^63-1");
}

Height block_height(const Value& value) {
  if (value.IsNull()) return none();  // an unknown block
  if (!value.IsObject()) return malformed("the result is not a block");
  if (!value.HasMember("number")) return malformed("the block has no number");
  if (value["number"].IsNull()) return none();  // a pending block
  return quantity_height(value["number"], "the block's number");
}

Height syncing_height(const Value& value) {
  if (value.IsFalse()) return none();
  if (!value.IsObject()) return malformed("the result is neither false nor an object");
  return value.HasMember("currentBlock") ? quantity_height(value["currentBlock"], "currentBlock") : none();
}

Height enveloped_height(const Value& value) {
  if (!value.IsObject()) return malformed("the result is not an object with a context");
  if (!value.HasMember("context") || !value["context"].IsObject()) return malformed("the result has no context");
  const Value& context = value["context"];
  return context.HasMember("slot") ? integer_height(context["slot"], "context.slot")
                                   : malformed("the context has no slot");
}

bool is_hexadecimal(const Value& value) {
  const std::string_view text(value.GetString(), value.GetStringLength());
  return text.starts_with("0x") && text.substr(2).find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

Height checked(bool fits, std::string_view wanted) {
  return fits ? none() : malformed("the result is not " + std::string(wanted));
}

Height height_in(const Value& value, Shape shape) {
  switch (shape) {
    case Shape::any:
      return none();
    case Shape::text:
      return checked(value.IsString(), "a text");
    case Shape::quantity:
      return checked(value.IsUint64() || (value.IsString() && value.GetStringLength() > 2 && is_hexadecimal(value)),
                     "a quantity");
    case Shape::data:
      return checked(value.IsNull() || (value.IsString() && is_hexadecimal(value)), "hexadecimal data");
    case Shape::array:
      return checked(value.IsArray(), "an array");
    case Shape::integer:
      return checked(value.IsUint64(), "an unsigned integer");
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

bool parse(std::string_view json, rapidjson::Document& document) {
  document.Parse<rapidjson::kParseIterativeFlag>(json.data(), json.size());
  return !document.HasParseError();
}

}  // namespace

Height height_of(ChainKind kind, std::string_view method, std::string_view result_json) {
  const Method* known = find_read_method(kind, method);
  if (known == nullptr || known->shape == Shape::any) return none();
  rapidjson::Document document;
  if (!parse(result_json, document)) return malformed("the result cannot be read");
  return height_in(document, known->shape);
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
  rapidjson::Document document;
  if (!parse(result_json, document) || !document.IsObject()) return malformed("the head is not an object");
  const char* field = kind == ChainKind::evm ? "number" : "slot";
  if (!document.HasMember(field)) return malformed("the head has no height");
  return kind == ChainKind::evm ? quantity_height(document[field], "the head's number")
                                : integer_height(document[field], "the head's slot");
}

}  // namespace rpcroute::chain

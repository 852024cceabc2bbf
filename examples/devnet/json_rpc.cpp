#include "json_rpc.hpp"

namespace rpcroute::devnet {

const Json& MethodCall::param(rapidjson::SizeType index) const {
  static const Json absent;
  return params.IsArray() && index < params.Size() ? params[index] : absent;
}

MethodResult result(std::string json) {
  return {std::move(json), false, std::nullopt};
}

MethodResult text_result(std::string_view text) {
  return result(JsonText().value(text).take());
}

MethodResult error(std::int64_t code, std::string_view message, std::string_view data_json) {
  std::string json = "{\"code\":" + std::to_string(code) + ",\"message\":" + JsonText().value(message).take();
  if (!data_json.empty()) json.append(",\"data\":").append(data_json);
  return {json + "}", true, std::nullopt};
}

MethodResult error(const Rejection& rejection) {
  return error(rejection.code, rejection.message);
}

MethodResult invalid_params(std::string_view message) {
  return error(-32602, message);
}

std::string envelope(std::string_view id, const MethodResult& result) {
  std::string json = "{\"jsonrpc\":\"2.0\",\"id\":";
  json.append(id).append(result.is_error ? ",\"error\":" : ",\"result\":").append(result.json).append("}");
  return json;
}

}  // namespace rpcroute::devnet

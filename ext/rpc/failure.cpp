#include "rpc/failure.hpp"

namespace rpcroute::rpc {

std::string_view name(ErrorClass error_class) {
  switch (error_class) {
    case ErrorClass::config:
      return "config";
    case ErrorClass::dns:
      return "dns";
    case ErrorClass::connect:
      return "connect";
    case ErrorClass::tls:
      return "tls";
    case ErrorClass::timeout:
      return "timeout";
    case ErrorClass::http:
      return "http";
    case ErrorClass::rate_limited:
      return "rate_limited";
    case ErrorClass::auth:
      return "auth";
    case ErrorClass::malformed:
      return "malformed";
    case ErrorClass::too_large:
      return "too_large";
    case ErrorClass::rpc:
      return "rpc";
    case ErrorClass::nonce:
      return "nonce";
    case ErrorClass::underpriced:
      return "underpriced";
    case ErrorClass::funds:
      return "funds";
    case ErrorClass::wrong_chain:
      return "wrong_chain";
    case ErrorClass::spend_limit:
      return "spend_limit";
    case ErrorClass::mainnet:
      return "mainnet";
    case ErrorClass::unobserved:
      return "unobserved";
  }
  return "";
}

}  // namespace rpcroute::rpc

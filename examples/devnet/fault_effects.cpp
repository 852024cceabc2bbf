#include "fault_effects.hpp"

#include <cryptopp/gzip.h>

#include <algorithm>

namespace rpcroute::devnet {
namespace {

using enum FaultKind;

constexpr std::size_t bomb_bytes = std::size_t{50} << 20;
constexpr std::size_t huge_header_bytes = std::size_t{1} << 20;
constexpr const char* json_type = "application/json";

Reply whole(std::string bytes) {
  return {.bytes = std::move(bytes)};
}

Reply undelivered(Reply::Delivery delivery) {
  return {.bytes = {}, .delivery = delivery};
}

std::string error_body(std::string_view id, std::int64_t code, std::string_view message, std::string_view data = {}) {
  return envelope(id, error(code, message, data));
}

/// Body of a valid answer to id 1, packed.
const std::string& bomb() {
  static const std::string packed = [] {
    std::string out;
    CryptoPP::Gzip gzip(new CryptoPP::StringSink(out), CryptoPP::Gzip::MIN_DEFLATE_LEVEL + 1);
    const auto put = [&](std::string_view text) {
      gzip.Put(reinterpret_cast<const CryptoPP::byte*>(text.data()), text.size());
    };
    put(R"({"jsonrpc":"2.0","id":1,"result":"0x)");
    const std::string digits(std::size_t{1} << 20, '0');
    for (std::size_t size = 0; size < bomb_bytes; size += digits.size()) put(digits);
    put(R"("})");
    gzip.MessageEnd();
    return out;
  }();
  return packed;
}

std::string header_lines(const Fault& fault) {
  std::string lines;
  for (const auto& [name, value] : fault.headers) lines.append(name).append(": ").append(value).append("\r\n");
  return lines;
}

Reply truncated(std::string_view body) {
  auto bytes = http_response(200, json_type, body);
  bytes.resize(bytes.size() - (body.size() + 1) / 2);
  return {.bytes = std::move(bytes), .close = true};
}

std::string with_invalid_utf8(std::string_view body) {
  std::string spoilt(body.substr(0, body.size() - 1));
  return spoilt + ",\"note\":\"\xff\xfe\xc3(\"}";
}

std::string in_quotes(std::string_view text) {
  return "\"" + std::string(text) + "\"";
}

std::string zero_padded_quantity(std::uint64_t height) {
  return "0x00" + quantity(height).substr(2);
}

/// The count in a result of eth_getTransactionCount, some transactions ago.
std::string earlier_nonce(std::string_view json, std::uint64_t behind) {
  const auto nonce = parse_quantity(json.substr(1, json.size() - 2)).value_or(0);
  return in_quotes(quantity(nonce - std::min(nonce, behind)));
}

/// The main networks' names for themselves.
std::string mainnet_id(std::string_view method) {
  if (method == "eth_chainId") return in_quotes("0x1");
  if (method == "net_version") return in_quotes("1");
  return in_quotes("5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d");
}

}  // namespace

Reply reply_instead(const Fault& fault, std::string_view id) {
  switch (fault.kind) {
    case stall:
      return undelivered(Reply::Delivery::stall);
    case status_429:
      return whole(http_response(429, json_type, error_body(id, -32005, "Too Many Requests")));
    case status_429_retry_after:
      return whole(http_response(429, json_type, error_body(id, -32005, "Too Many Requests"),
                                 "Retry-After: " + std::to_string(fault.amount) + "\r\n"));
    case rate_limit_200:
      return whole(http_response(200, json_type,
                                 error_body(id, -32005, "project ID request rate exceeded: rate limit reached",
                                            R"({"rate":{"backoff_seconds":30,"allowed_rps":1,"current_rps":9.5}})")));
    case unauthorized:
      return whole(http_response(401, json_type, error_body(id, -32000, "invalid api key")));
    case html_502:
      return whole(http_response(502, "text/html",
                                 "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 "
                                 "Bad Gateway</h1></center>\r\n</body>\r\n</html>\r\n"));
    case rpc_error_on_500:
      return whole(http_response(500, json_type, error_body(id, -32603, "internal error")));
    case redirect_file:
      return whole(http_response(302, "text/plain", "", "Location: file:///etc/passwd\r\n"));
    case redirect_host:
      return whole(http_response(302, "text/plain", "", "Location: " + fault.text + "\r\n"));
    case respond:
      return whole(http_response(fault.status, fault.content_type, fault.text, header_lines(fault)));
    case rpc_error:
      return whole(http_response(200, json_type, error_body(id, fault.code, fault.text, fault.data)));
    default:
      return undelivered(Reply::Delivery::reset);
  }
}

Reply reply_lost(const Fault& fault) {
  switch (fault.kind) {
    case error_after_accept:
      return whole(http_response(502, "text/plain", "upstream connect error"));
    case stall_after_accept:
      return undelivered(Reply::Delivery::stall);
    default:
      return undelivered(Reply::Delivery::reset);
  }
}

Reply reply_spoilt(const Fault& fault, std::string_view body) {
  const auto answer = [&](std::string_view text, std::string_view headers = {}) {
    return whole(http_response(200, json_type, text, headers));
  };
  switch (fault.kind) {
    case double_response:
      return whole(answer(body).bytes + answer(body).bytes);
    case drip:
      return {.bytes = answer(body).bytes,
              .delivery = Reply::Delivery::drip,
              .interval = std::chrono::nanoseconds(static_cast<std::int64_t>(fault.interval_ms * 1e6))};
    case truncate:
      return truncated(body);
    case empty_200:
      return answer("");
    case invalid_json:
      return answer(body.substr(0, body.size() - 1));
    case invalid_utf8:
      return answer(with_invalid_utf8(body));
    case gzip_bomb:
      return answer(bomb(), "Content-Encoding: gzip\r\n");
    case endless_body:
      return {.bytes = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
              .delivery = Reply::Delivery::endless};
    case huge_header:
      return answer(body, "X-Filler: " + std::string(huge_header_bytes, 'x') + "\r\n");
    default:
      return answer(body);
  }
}

std::string spoilt_id(const Fault& fault, std::string id) {
  const bool is_number = !id.empty() && id.find_first_not_of("0123456789") == std::string::npos && id.size() < 18;
  if (fault.kind == wrong_id) return is_number ? std::to_string(std::stoull(id) + 1) : "\"wrong\"";
  if (fault.kind == string_id) return is_number ? "\"" + id + "\"" : id;
  return id;
}

void distort(MethodResult& result, const Fault& fault, std::string_view method, Kind kind) {
  if (fault.kind == indexing_in_progress) result = error(-32000, "transaction indexing is in progress");
  if (result.is_error) return;
  const auto number = [&](std::uint64_t height) {
    result.json = kind == Kind::solana ? std::to_string(height) : in_quotes(quantity(height));
    if (result.height) result.height->reported = height;
  };
  const auto text = [&](std::string json, std::optional<std::uint64_t> reported) {
    result.json = std::move(json);
    if (result.height) result.height->reported = reported;
  };
  const std::uint64_t view = result.height ? result.height->view : 0;
  switch (fault.kind) {
    case null_result:
      return text("null", std::nullopt);
    case stale_nonce:
      return text(earlier_nonce(result.json, fault.amount), std::nullopt);
    case wrong_chain_id:
      return text(mainnet_id(method), std::nullopt);
    case height_zero:
      return number(0);
    case height_regress:
      return number(view - std::min(view, fault.amount));
    case height_other_chain:
      return number(view + fault.amount);
    case max_uint64:
      return number(~std::uint64_t{0});
    case empty_quantity:
      return text(in_quotes("0x"), std::nullopt);
    case zero_padded:
      return text(in_quotes(zero_padded_quantity(view)), view);
    case decimal_height:
      return text(in_quotes(std::to_string(view)), std::nullopt);
    case number_height:
      return text(std::to_string(view), std::nullopt);
    default:
      return;
  }
}

void prepare(const Fault& fault) {
  if (fault.kind == gzip_bomb) bomb();
}

}  // namespace rpcroute::devnet

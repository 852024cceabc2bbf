// SHA-256, by OpenSSL.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace rpcroute::text {

/// Of bytes that come in parts. Throws std::runtime_error when OpenSSL cannot compute it.
class Sha256 {
 public:
  Sha256();
  void add(std::string_view bytes);
  /// 64 lower-case hexadecimal digits; nothing can be added afterwards.
  std::string hex();

 private:
  std::unique_ptr<evp_md_ctx_st, void (*)(evp_md_ctx_st*)> context_;
};

std::string sha256_hex(std::span<const std::byte> bytes);

}  // namespace rpcroute::text

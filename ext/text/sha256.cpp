#include "text/sha256.hpp"

#include <openssl/evp.h>

#include <array>
#include <stdexcept>
#include <string_view>

namespace rpcroute::text {

std::string sha256_hex(std::span<const std::byte> bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1) {
    throw std::runtime_error("OpenSSL cannot compute SHA-256");
  }
  constexpr std::string_view digits = "0123456789abcdef";
  std::string hexadecimal;
  for (unsigned i = 0; i < size; ++i) hexadecimal += {digits[digest[i] >> 4], digits[digest[i] & 15]};
  return hexadecimal;
}

}  // namespace rpcroute::text

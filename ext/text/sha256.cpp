#include "text/sha256.hpp"

#include <openssl/evp.h>

#include <array>
#include <cstdint>
#include <stdexcept>

#include "text/hex.hpp"

namespace rpcroute::text {
namespace {

void check(int succeeded) {
  if (succeeded != 1) throw std::runtime_error("OpenSSL cannot compute SHA-256");
}

}  // namespace

Sha256::Sha256() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
  check(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr));
}

void Sha256::add(std::string_view bytes) {
  check(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()));
}

std::string Sha256::hex() {
  std::array<std::uint8_t, 32> digest{};
  check(EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr));
  return to_hex(digest).substr(2);
}

std::string sha256_hex(std::span<const std::byte> bytes) {
  Sha256 sha256;
  sha256.add({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  return sha256.hex();
}

}  // namespace rpcroute::text

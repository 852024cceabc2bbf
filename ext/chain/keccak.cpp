#include "chain/keccak.hpp"

#include <cryptopp/keccak.h>

#include <algorithm>

#include "text/hex.hpp"

namespace rpcroute::chain {

Hash keccak256(text::BytesView bytes) {
  Hash digest;
  CryptoPP::Keccak_256 keccak;
  keccak.Update(bytes.data(), bytes.size());
  keccak.TruncatedFinal(digest.data(), digest.size());
  return digest;
}

Address address_of_public_key(std::span<const std::uint8_t, 64> public_key) {
  const Hash digest = keccak256(public_key);
  Address address;
  std::copy(digest.end() - address.size(), digest.end(), address.begin());
  return address;
}

std::optional<Address> read_address(std::string_view text) {
  Address address;
  if (!text::from_hex(text, address)) return std::nullopt;
  return address;
}

std::optional<Hash> read_hash(std::string_view text) {
  Hash hash;
  if (!text::from_hex(text, hash)) return std::nullopt;
  return hash;
}

}  // namespace rpcroute::chain

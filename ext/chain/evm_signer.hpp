// Private keys, and what is signed with them. A key lives in memory that is kept out of core dumps and wiped when it
// goes; no message, row or log ever holds one.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chain/eip1559.hpp"
#include "chain/keccak.hpp"
#include "text/hex.hpp"

namespace rpcroute::chain {

/// Bytes that must not be found later: a private mapping that is locked where the system allows it, left out of core
/// dumps, and wiped before it is given back.
class SecretBytes {
 public:
  explicit SecretBytes(std::size_t size);
  ~SecretBytes();
  SecretBytes(SecretBytes&& other) noexcept;
  SecretBytes& operator=(SecretBytes&& other) noexcept;
  SecretBytes(const SecretBytes&) = delete;
  SecretBytes& operator=(const SecretBytes&) = delete;

  std::uint8_t* data() { return data_; }
  const std::uint8_t* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
};

/// A secp256k1 key. Movable, never copied or printed.
class PrivateKey {
 public:
  /// `digits`: 64 hexadecimal digits, "0x" before them or not. `source` is how messages call the key
  /// ("RPCROUTE_KEY_2", "line 3 of the key file"). Throws std::invalid_argument naming the source when it is no key.
  static PrivateKey read(std::string_view digits, std::string_view source);

  const Address& address() const { return address_; }

  /// Signs a 32-byte digest: deterministic (RFC 6979) with s in the lower half, as EIP-2 demands. Thread-safe.
  Signature sign(const Hash& digest) const;

 private:
  explicit PrivateKey(SecretBytes secret) : secret_(std::move(secret)) {}

  SecretBytes secret_;
  Address address_{};
};

/// A transaction ready to travel.
struct SignedTransaction {
  text::Bytes raw;
  Hash hash{};
};

SignedTransaction sign(const Eip1559Transaction& transaction, const PrivateKey& key);

/// Signs a probe transfer and nothing else: throws std::logic_error unless is_probe_transfer() holds for the key's own
/// address. The only signing that tx_probe can reach.
SignedTransaction sign_probe_transfer(const Eip1559Transaction& transaction, const PrivateKey& key);

/// Who signed; nullopt when the signature is none or its s lies in the upper half.
std::optional<Address> recover_sender(const Eip1559Transaction& transaction, const Signature& signature);

/// Reads the keys that `signer` names:
///   "env:RPCROUTE_KEY[,RPCROUTE_KEY_2…]"  from variables whose names begin with RPCROUTE_KEY;
///   "file:/path"                          from a regular file of ours or root's that only its owner can read, one key
///                                         a line, empty lines skipped.
/// A key that is named twice counts once. Throws std::invalid_argument, naming the source and never its content.
std::vector<PrivateKey> load_keys(std::string_view signer);

}  // namespace rpcroute::chain

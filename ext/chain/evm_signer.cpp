#include "chain/evm_signer.hpp"

#include <openssl/crypto.h>
#include <secp256k1.h>
#include <secp256k1_recovery.h>
#include <sys/mman.h>
#include <sys/random.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <stdexcept>
#include <utility>

#include "text/hex.hpp"

namespace rpcroute::chain {
namespace {

constexpr std::size_t key_size = 32;

/// One context for the process: after its randomisation it is only read, so threads may share it.
const secp256k1_context* context() {
  static const secp256k1_context* const shared = [] {
    secp256k1_context* created = secp256k1_context_create(SECP256K1_CONTEXT_SIGN | SECP256K1_CONTEXT_VERIFY);
    std::uint8_t blinding[32];
    const bool have_blinding = getrandom(blinding, sizeof blinding, 0) == static_cast<ssize_t>(sizeof blinding);
    // Blinding guards against side channels; signatures are right without it.
    [[maybe_unused]] const bool blinded = have_blinding && secp256k1_context_randomize(created, blinding) == 1;
    OPENSSL_cleanse(blinding, sizeof blinding);
    return created;
  }();
  return shared;
}

Address address_of(const secp256k1_pubkey& public_key) {
  std::uint8_t serialized[65];
  std::size_t size = sizeof serialized;
  secp256k1_ec_pubkey_serialize(context(), serialized, &size, &public_key, SECP256K1_EC_UNCOMPRESSED);
  return address_of_public_key(std::span<const std::uint8_t, 64>(serialized + 1, 64));
}

}  // namespace

SecretBytes::SecretBytes(std::size_t size) : size_(size) {
  void* mapping = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  data_ = static_cast<std::uint8_t*>(mapping);
  (void)madvise(data_, size_, MADV_DONTDUMP);
  (void)mlock(data_, size_);
}

SecretBytes::~SecretBytes() {
  if (data_ == nullptr) return;
  OPENSSL_cleanse(data_, size_);
  munmap(data_, size_);
}

SecretBytes::SecretBytes(SecretBytes&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

SecretBytes& SecretBytes::operator=(SecretBytes&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

PrivateKey PrivateKey::read(std::string_view digits, std::string_view source) {
  if (digits.starts_with("0x") || digits.starts_with("0X")) digits.remove_prefix(2);
  if (digits.size() != 2 * key_size) {
    throw std::invalid_argument(std::string(source) + " holds no private key: 64 hexadecimal digits are expected");
  }
  SecretBytes secret(key_size);
  bool good = true;
  for (std::size_t i = 0; i < key_size; ++i) {
    const int high = text::hex_digit(digits[2 * i]);
    const int low = text::hex_digit(digits[2 * i + 1]);
    good = good && high >= 0 && low >= 0;
    secret.data()[i] = static_cast<std::uint8_t>((high & 15) << 4 | (low & 15));
  }
  if (!good) {
    throw std::invalid_argument(std::string(source) + " holds no private key: it has characters that are no digits");
  }
  secp256k1_pubkey public_key;
  if (secp256k1_ec_pubkey_create(context(), &public_key, secret.data()) != 1) {
    throw std::invalid_argument(std::string(source) + " holds no private key: the number is not one of secp256k1's");
  }
  PrivateKey key(std::move(secret));
  key.address_ = chain::address_of(public_key);
  return key;
}

Signature PrivateKey::sign(const Hash& digest) const {
  secp256k1_ecdsa_recoverable_signature recoverable;
  if (secp256k1_ecdsa_sign_recoverable(context(), &recoverable, digest.data(), secret_.data(), nullptr, nullptr) != 1) {
    throw std::runtime_error("signing failed");
  }
  std::uint8_t compact[64];
  int parity = 0;
  secp256k1_ecdsa_recoverable_signature_serialize_compact(context(), compact, &parity, &recoverable);
  Signature signature;
  signature.y_parity = (parity & 1) != 0;
  std::memcpy(signature.r.bytes.data(), compact, 32);
  std::memcpy(signature.s.bytes.data(), compact + 32, 32);
  return signature;
}

SignedTransaction sign(const Eip1559Transaction& transaction, const PrivateKey& key) {
  const Signature signature = key.sign(keccak256(signing_payload(transaction)));
  SignedTransaction result{signed_payload(transaction, signature), {}};
  result.hash = keccak256(result.raw);
  return result;
}

SignedTransaction sign_probe_transfer(const Eip1559Transaction& transaction, const PrivateKey& key) {
  if (!is_probe_transfer(transaction, key.address())) {
    throw std::logic_error("only a transfer of nothing from the account to itself may be signed");
  }
  return sign(transaction, key);
}

std::optional<Address> recover_sender(const Eip1559Transaction& transaction, const Signature& signature) {
  std::uint8_t compact[64];
  std::memcpy(compact, signature.r.bytes.data(), 32);
  std::memcpy(compact + 32, signature.s.bytes.data(), 32);
  secp256k1_ecdsa_recoverable_signature recoverable;
  const int parity = signature.y_parity ? 1 : 0;
  if (secp256k1_ecdsa_recoverable_signature_parse_compact(context(), &recoverable, compact, parity) != 1) return {};
  secp256k1_ecdsa_signature plain;
  secp256k1_ecdsa_recoverable_signature_convert(context(), &plain, &recoverable);
  const bool upper_half = secp256k1_ecdsa_signature_normalize(context(), nullptr, &plain) == 1;
  const Hash digest = keccak256(signing_payload(transaction));
  secp256k1_pubkey public_key;
  if (upper_half || secp256k1_ecdsa_recover(context(), &public_key, &recoverable, digest.data()) != 1) return {};
  return address_of(public_key);
}

}  // namespace rpcroute::chain

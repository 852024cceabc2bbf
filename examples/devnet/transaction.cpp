#include "transaction.hpp"

#include <secp256k1_recovery.h>

#include <algorithm>
#include <memory>
#include <stdexcept>

namespace rpcroute::devnet {
namespace {

constexpr std::uint8_t dynamic_fee_type = 2;

struct DestroyContext {
  void operator()(secp256k1_context* context) const { secp256k1_context_destroy(context); }
};

const secp256k1_context* curve() {
  static const std::unique_ptr<secp256k1_context, DestroyContext> context(
      secp256k1_context_create(SECP256K1_CONTEXT_SIGN | SECP256K1_CONTEXT_VERIFY));
  return context.get();
}

Hash typed_hash(const Rlp& fields) {
  Bytes bytes = rlp_encode(fields);
  bytes.insert(bytes.begin(), dynamic_fee_type);
  return keccak(bytes);
}

std::vector<Rlp> unsigned_fields(const Transaction& tx) {
  return {Rlp::number(tx.chain_id), Rlp::number(tx.nonce), Rlp::number(tx.tip),
          Rlp::number(tx.max_fee),  Rlp::number(tx.gas),   tx.to ? Rlp::string(*tx.to) : Rlp{},
          Rlp::number(tx.value),    Rlp::string(tx.data),  tx.access_list};
}

std::vector<Rlp> signed_fields(const Transaction& tx) {
  auto fields = unsigned_fields(tx);
  fields.push_back(Rlp::number(tx.y_parity));
  fields.push_back(Rlp::number(tx.r));
  fields.push_back(Rlp::number(tx.s));
  return fields;
}

Address address_of(const secp256k1_pubkey& key) {
  std::array<std::uint8_t, 65> point;
  std::size_t size = point.size();
  secp256k1_ec_pubkey_serialize(curve(), point.data(), &size, &key, SECP256K1_EC_UNCOMPRESSED);
  const auto hash = keccak(ByteView(point).subspan(1));
  Address address;
  std::copy(hash.end() - 20, hash.end(), address.begin());
  return address;
}

void put(const Wei& number, std::uint8_t* to) {
  const auto bytes = big_endian(number);
  std::copy(bytes.begin(), bytes.end(), to + 32 - bytes.size());
}

/// The signer of a digest; nullopt for values outside the curve or with the high s that EIP-2 forbids.
std::optional<Address> recover(const Transaction& tx, const Hash& digest) {
  std::array<std::uint8_t, 64> compact{};
  put(tx.r, compact.data());
  put(tx.s, compact.data() + 32);
  secp256k1_ecdsa_recoverable_signature signature;
  secp256k1_ecdsa_signature plain;
  secp256k1_pubkey key;
  if (tx.y_parity > 1 || !secp256k1_ecdsa_recoverable_signature_parse_compact(curve(), &signature, compact.data(),
                                                                              static_cast<int>(tx.y_parity))) {
    return std::nullopt;
  }
  secp256k1_ecdsa_recoverable_signature_convert(curve(), &plain, &signature);
  if (secp256k1_ecdsa_signature_normalize(curve(), nullptr, &plain)) return std::nullopt;
  if (!secp256k1_ecdsa_recover(curve(), &key, &signature, digest.data())) return std::nullopt;
  return address_of(key);
}

/// Numbers of the type-2 payload as RLP wants them: no leading zeros, within `bytes`.
bool is_number(const Rlp& item, std::size_t bytes) {
  return !item.is_list && item.bytes.size() <= bytes && (item.bytes.empty() || item.bytes[0] != 0);
}

bool is_access_list(const Rlp& list) {
  return list.is_list && std::all_of(list.items.begin(), list.items.end(), [](const Rlp& entry) {
           return entry.is_list && entry.items.size() == 2 && entry.items[0].bytes.size() == 20 &&
                  entry.items[1].is_list &&
                  std::all_of(entry.items[1].items.begin(), entry.items[1].items.end(),
                              [](const Rlp& key) { return !key.is_list && key.bytes.size() == 32; });
         });
}

bool has_shape(const Rlp& payload) {
  if (!payload.is_list || payload.items.size() != 12) return false;
  const auto& f = payload.items;
  return is_number(f[0], 8) && is_number(f[1], 8) && is_number(f[2], 32) && is_number(f[3], 32) && is_number(f[4], 8) &&
         !f[5].is_list && (f[5].bytes.empty() || f[5].bytes.size() == 20) && is_number(f[6], 32) && !f[7].is_list &&
         is_access_list(f[8]) && is_number(f[9], 1) && is_number(f[10], 32) && is_number(f[11], 32);
}

Transaction from_payload(const Rlp& payload) {
  const auto number = [&](std::size_t i) { return from_big_endian(payload.items[i].bytes); };
  Transaction tx;
  tx.chain_id = static_cast<std::uint64_t>(number(0));
  tx.nonce = static_cast<std::uint64_t>(number(1));
  tx.tip = number(2);
  tx.max_fee = number(3);
  tx.gas = static_cast<std::uint64_t>(number(4));
  if (const auto& to = payload.items[5].bytes; !to.empty()) {
    tx.to.emplace();
    std::copy(to.begin(), to.end(), tx.to->begin());
  }
  tx.value = number(6);
  tx.data = payload.items[7].bytes;
  tx.access_list = payload.items[8];
  tx.y_parity = static_cast<unsigned>(number(9));
  tx.r = number(10);
  tx.s = number(11);
  return tx;
}

}  // namespace

std::uint64_t Transaction::intrinsic_gas() const {
  std::uint64_t gas_used = to ? 21000 : 53000;
  for (const auto byte : data) gas_used += byte == 0 ? 4 : 16;
  for (const auto& entry : access_list.items) gas_used += 2400 + 1900 * entry.items[1].items.size();
  return gas_used;
}

std::variant<Transaction, Rejection> decode_transaction(ByteView raw, std::uint64_t chain_id) {
  if (raw.size() < 2) return Rejection{-32000, "typed transaction too short"};
  if (raw[0] != dynamic_fee_type) return Rejection{-32000, "transaction type not supported"};
  const auto payload = rlp_decode(raw.subspan(1));
  if (!payload) return Rejection{-32000, "rlp: value size exceeds available input length"};
  if (!has_shape(*payload)) return Rejection{-32000, "rlp: input does not match types.DynamicFeeTx"};
  Transaction tx = from_payload(*payload);
  if (tx.chain_id != chain_id) {
    return Rejection{-32000, "invalid sender: invalid chain id for signer: have " + std::to_string(tx.chain_id) +
                                 " want " + std::to_string(chain_id)};
  }
  const auto from = recover(tx, typed_hash(Rlp::list(unsigned_fields(tx))));
  if (!from) return Rejection{-32000, "invalid sender: invalid transaction v, r, s values"};
  tx.from = *from;
  tx.hash = keccak(raw);
  return tx;
}

void sign(Transaction& tx, const PrivateKey& key) {
  const auto digest = typed_hash(Rlp::list(unsigned_fields(tx)));
  secp256k1_ecdsa_recoverable_signature signature;
  if (!secp256k1_ecdsa_sign_recoverable(curve(), &signature, digest.data(), key.data(), nullptr, nullptr)) {
    throw std::invalid_argument("not a private key");
  }
  std::array<std::uint8_t, 64> compact;
  int parity = 0;
  secp256k1_ecdsa_recoverable_signature_serialize_compact(curve(), compact.data(), &parity, &signature);
  tx.y_parity = static_cast<unsigned>(parity);
  tx.r = from_big_endian(ByteView(compact).first(32));
  tx.s = from_big_endian(ByteView(compact).subspan(32));
  tx.from = address_of(key);
  tx.hash = typed_hash(Rlp::list(signed_fields(tx)));
}

Address address_of(const PrivateKey& key) {
  secp256k1_pubkey point;
  if (!secp256k1_ec_pubkey_create(curve(), &point, key.data())) throw std::invalid_argument("not a private key");
  return address_of(point);
}

}  // namespace rpcroute::devnet

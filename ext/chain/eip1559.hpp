// The type-2 transaction of EIP-1559: what is signed, what is sent, and how a sent one is read back.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "chain/keccak.hpp"
#include "chain/quantity.hpp"
#include "text/hex.hpp"

namespace rpcroute::chain {

struct AccessListEntry {
  Address address{};
  std::vector<Hash> storage_keys;

  bool operator==(const AccessListEntry&) const = default;
};

/// Amounts in wei.
struct Eip1559Transaction {
  std::uint64_t chain_id = 0;
  std::uint64_t nonce = 0;
  Uint256 max_priority_fee_per_gas;
  Uint256 max_fee_per_gas;
  std::uint64_t gas_limit = 0;
  std::optional<Address> to;  ///< empty: creates a contract
  Uint256 value;
  text::Bytes data;
  std::vector<AccessListEntry> access_list;

  bool operator==(const Eip1559Transaction&) const = default;
};

struct Signature {
  bool y_parity = false;
  Uint256 r;
  Uint256 s;
};

/// 0x02 ‖ rlp([fields]): the bytes whose Keccak-256 is signed.
text::Bytes signing_payload(const Eip1559Transaction& transaction);

/// 0x02 ‖ rlp([fields, yParity, r, s]): the bytes that travel, whose Keccak-256 is the transaction's hash. The leading
/// zeros of r and s are dropped, as RLP integers demand (19 of 3200 published vectors have some).
text::Bytes signed_payload(const Eip1559Transaction& transaction, const Signature& signature);

/// Reads signed bytes; nullopt when they are not a type-2 transaction in canonical form.
std::optional<std::pair<Eip1559Transaction, Signature>> read_signed_payload(text::BytesView raw);

/// Whether it is what rpcroute sends: nothing, from `from` to itself, for 21000 gas.
bool is_probe_transfer(const Eip1559Transaction& transaction, const Address& from);

/// What a plain transfer burns (Yellow Paper, G_transaction).
inline constexpr std::uint64_t transfer_gas = 21000;

}  // namespace rpcroute::chain

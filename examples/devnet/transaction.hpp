// EIP-1559 transactions: what a node does with the bytes it is sent.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "bytes.hpp"
#include "rlp.hpp"

namespace rpcroute::devnet {

using PrivateKey = std::array<std::uint8_t, 32>;

/// A JSON-RPC error in the words of geth (core/error.go, core/txpool/errors.go), which clients match by text.
struct Rejection {
  int code = -32000;
  std::string message;
};

struct Transaction {
  std::uint64_t chain_id = 0;
  std::uint64_t nonce = 0;
  Wei tip;      ///< max priority fee per gas
  Wei max_fee;  ///< max fee per gas
  std::uint64_t gas = 21000;
  std::optional<Address> to;  ///< empty: a contract is created
  Wei value;
  Bytes data;
  Rlp access_list = Rlp::list({});
  unsigned y_parity = 0;
  Wei r, s;

  // What follows from the above.
  Address from{};
  Hash hash{};

  /// The most it can take from its sender.
  Wei cost() const { return max_fee * gas + value; }
  /// What it pays per gas in a block with this base fee, which it must be able to pay.
  Wei gas_price(const Wei& base_fee) const { return std::min<Wei>(max_fee, base_fee + tip); }
  /// Gas used before a single instruction runs, which is all that runs here (EIP-2028, EIP-2930).
  std::uint64_t intrinsic_gas() const;
};

/// Reads raw bytes, checks chain and signature, and fills sender and hash.
std::variant<Transaction, Rejection> decode_transaction(ByteView raw, std::uint64_t chain_id);

/// Signs the fields, fills sender and hash.
void sign(Transaction& transaction, const PrivateKey& key);

Address address_of(const PrivateKey& key);

}  // namespace rpcroute::devnet

// Recursive Length Prefix, the encoding of transactions and headers (Ethereum yellow paper, appendix B).
#pragma once

#include <optional>
#include <vector>

#include "bytes.hpp"

namespace rpcroute::devnet {

/// Either a string of bytes or a list.
struct Rlp {
  bool is_list = false;
  Bytes bytes;             ///< of a string
  std::vector<Rlp> items;  ///< of a list

  static Rlp string(ByteView bytes) { return {false, {bytes.begin(), bytes.end()}, {}}; }
  static Rlp number(const Wei& amount) { return {false, big_endian(amount), {}}; }
  static Rlp list(std::vector<Rlp> items) { return {true, {}, std::move(items)}; }
};

Bytes rlp_encode(const Rlp& item);

/// The one item that the whole input is; nullopt when it is not canonical, is cut short or has bytes left over.
std::optional<Rlp> rlp_decode(ByteView input);

}  // namespace rpcroute::devnet

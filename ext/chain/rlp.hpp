// Recursive Length Prefix, the encoding of Ethereum's transactions (Yellow Paper, appendix B).
#pragma once

#include <optional>
#include <vector>

#include "chain/hex.hpp"

namespace rpcroute::chain {

/// A string of bytes or a list of items.
struct RlpItem {
  bool is_list = false;
  Bytes bytes;                 ///< when it is a string
  std::vector<RlpItem> items;  ///< when it is a list

  bool operator==(const RlpItem&) const = default;
};

/// Appends the encoding of a string of bytes.
void append_rlp(Bytes& out, BytesView bytes);

/// Appends the encoding of a list whose items are encoded already, one behind the other, in `payload`.
void append_rlp_list(Bytes& out, BytesView payload);

Bytes encode_rlp(const RlpItem& item);

/// Decodes exactly one item that fills `bytes`. nullopt for what no encoder writes: a length that is not minimal, a
/// single small byte behind a prefix, a length beyond the end, bytes left over, lists nested deeper than 64.
std::optional<RlpItem> decode_rlp(BytesView bytes);

}  // namespace rpcroute::chain

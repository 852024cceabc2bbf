// Recursive Length Prefix, the encoding of Ethereum's transactions (Yellow Paper, appendix B).
#pragma once

#include <optional>
#include <vector>

#include "text/hex.hpp"

namespace rpcroute::chain {

/// A string of bytes or a list of items.
struct RlpItem {
  bool is_list = false;
  text::Bytes bytes;           ///< when it is a string
  std::vector<RlpItem> items;  ///< when it is a list

  bool operator==(const RlpItem&) const = default;
};

/// Appends the encoding of a string of bytes.
void append_rlp(text::Bytes& out, text::BytesView bytes);

/// Appends the encoding of a list whose items are encoded already, one behind the other, in `payload`.
void append_rlp_list(text::Bytes& out, text::BytesView payload);

text::Bytes encode_rlp(const RlpItem& item);

/// Decodes exactly one item that fills `bytes`. nullopt for what no encoder writes: a length that is not minimal, a
/// single small byte behind a prefix, a length beyond the end, bytes left over, lists nested deeper than 64.
std::optional<RlpItem> decode_rlp(text::BytesView bytes);

}  // namespace rpcroute::chain

// One text for all encodings of the same answer, so that the answers of different nodes can be compared.
#pragma once

#include <string>
#include <string_view>

#include "text/budget.hpp"

namespace rpcroute::rpc {

/// The canonical text of a JSON-RPC result, or of a whole response. `method` may be empty.
///
/// Member order, blanks and string escapes do not matter. Quantities, known by field or by method, become minimal
/// lower-case hexadecimal whatever their size; other 0x texts are data: lower case, zeros and length kept. Numbers lose
/// superfluous zeros and nothing else. Arrays keep their order. Blocks, transactions, receipts and logs, known by their
/// shape, keep the fields that nodes agree on: those of the specification, without the ones that only some clients send
/// or that legitimately differ. An absent `to`, `contractAddress` or place in a pending block equals a null one. Of a
/// Solana answer with a context only the value stays; texts of Solana are never hexadecimal. An error is its class and
/// its data: messages and ids differ from node to node.
///
/// Throws std::invalid_argument when the text is not JSON.
std::string canonical(std::string_view json, std::string_view method, const text::Pulse& pulse = {});

/// SHA-256 of the canonical text, 64 lower-case hexadecimal digits.
std::string canonical_digest(std::string_view json, std::string_view method, const text::Pulse& pulse = {});

/// JSON array of the paths at which the canonical forms differ (`["$.logs[0].data"]`); `[]` when the digests are equal.
std::string canonical_diff(std::string_view a, std::string_view b, std::string_view method,
                           const text::Pulse& pulse = {});

}  // namespace rpcroute::rpc

// The fields of EVM answers: which are numbers, and on which nodes agree.
#pragma once

#include <cstdint>
#include <string_view>

namespace rpcroute::rpc {

/// What is known of a name, a bit for each fact.
using Marks = std::uint32_t;

constexpr Marks is_quantity = 1U << 0;  ///< a number to every client
constexpr Marks is_optional = 1U << 1;  ///< its null is as good as its absence

// The kinds of objects whose nodes agree on it.
constexpr Marks in_block = 1U << 2;
constexpr Marks in_transaction = 1U << 3;
constexpr Marks in_receipt = 1U << 4;
constexpr Marks in_log = 1U << 5;
constexpr Marks in_fee_history = 1U << 6;

/// What is known of the name of a member; 0 when nothing is.
Marks marks_of(std::string_view name);

/// The kind of an object, one of the bits above, by the marks of all its members together; 0 when it is of none.
Marks kind_of(Marks members);

/// Whether a member with these marks is a number in an object of that kind.
bool is_number(Marks marks, Marks kind);

/// Whether the result of the method is one quantity.
bool returns_quantity(std::string_view method);

}  // namespace rpcroute::rpc

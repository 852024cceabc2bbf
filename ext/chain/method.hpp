// The JSON-RPC methods that only read, per chain kind: what they return and how to ask them.
#pragma once

#include <string_view>
#include <vector>

#include "chain/kind.hpp"

namespace rpcroute::chain {

/// What a method's result looks like, as far as that is cheap to check.
enum class Shape {
  any,
  text,      // a string, whatever it holds
  quantity,  // 0x…, no height
  data,      // 0x… or null where absent
  array,
  height_quantity,  // the height itself
  height_integer,
  block,      // an object whose `number` is the height, or null for an unknown block
  syncing,    // false, or an object whose `currentBlock` is the height
  enveloped,  // an object whose `context.slot` is the height
  integer,
};

struct Method {
  std::string_view name;
  Shape shape;
  std::string_view params = "[]";
};

/// The method on the list of reads, or nullptr.
const Method* find_read_method(ChainKind kind, std::string_view name);

/// The names on the lists of all kinds.
std::vector<std::string_view> read_method_names();

}  // namespace rpcroute::chain

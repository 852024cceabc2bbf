// How far behind the head of the chain a node is.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace rpcroute::align {

/// max(0, head - block_number), the seed's definition (heights in 0 … 2^63-1). nullopt when `block_number` is more
/// than `max_ahead` blocks above the head: such a height belongs to another chain or to a liar.
inline std::optional<std::int64_t> block_lag(std::int64_t block_number, std::int64_t head,
                                             std::optional<std::int64_t> max_ahead) {
  if (max_ahead && block_number - head > *max_ahead) return std::nullopt;
  return std::max<std::int64_t>(0, head - block_number);
}

}  // namespace rpcroute::align

// block_lag(block_number, head [, max_ahead]): how many blocks a node is behind.
#include "align/lag.hpp"
#include "functions/functions.hpp"
#include "functions/height_argument.hpp"

namespace rpcroute::functions {
namespace {

struct BlockLag {
  static sqlite::FunctionSpec spec() {
    return {
        .name = "block_lag",
        .arities = {2, 3},
        .deterministic = true,
        .doc = {"block_lag(block_number, head [, max_ahead])",
                "Blocks behind the head: max(0, head - block_number). Takes integers and 0x-quantities. NULL when a "
                "value is NULL, or when block_number is more than max_ahead above the head: an impossible height "
                "is not a lag of 0.",
                "SELECT block_lag(1000, 1003), block_lag('0x3e8', '0x3eb'), block_lag(5000000, 1003, 100)"}};
  }

  static void call(sqlite::Call& call, sqlite::Arguments arguments) {
    const auto block_number = height_argument("block_number", arguments[0]);
    const auto head = height_argument("head", arguments[1]);
    std::optional<std::int64_t> max_ahead;
    if (arguments.size() == 3) {
      max_ahead = max_ahead_argument(arguments[2]);
      if (!max_ahead) return;
    }
    if (block_number && head) call.result().set(align::block_lag(*block_number, *head, max_ahead));
  }
};

}  // namespace

sqlite::Function block_lag() {
  return sqlite::scalar<BlockLag>();
}

}  // namespace rpcroute::functions

// Whatever a node says of a transaction or a block is read within its bounds or refused in words.
//
//   cmake --preset fuzz && cmake --build build/fuzz --target fuzz_receipt
//   build/fuzz/tests/fuzz_receipt -max_len=4096 corpus
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "chain/receipt.hpp"
#include "text/json.hpp"

namespace {

using namespace rpcroute::chain;

constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

void require(bool holds) {
  if (!holds) std::abort();
}

/// A hash that a well-formed answer of the corpus carries.
const std::string hash = "0x" + std::string(64, 'a');

template <class Read>
void attempt(Read read) {
  try {
    read();
  } catch (const Misread& misread) {
    require(!misread.message.empty());
  }
}

void read_all(std::string_view json) {
  attempt([&] {
    const auto receipt = read_receipt(json, hash);
    if (!receipt) return;
    require(receipt->transaction_hash == hash);
    require(receipt->block_number <= largest && receipt->gas_used.value_or(0) <= largest);
    require(!receipt->block_hash.empty() || receipt->block_number == 0);
    require(agreed(std::vector(3, *receipt)) == *receipt);
  });
  attempt([&] {
    const auto block = read_block(json);
    if (block) require(block->number.value_or(0) <= largest && block->timestamp.value_or(0) <= largest);
  });
  attempt([&] {
    const auto known = read_transaction(json, hash);
    if (known) require(known->block_number.value_or(0) <= largest);
  });
  attempt([&] { read_quantity_result(json); });
  attempt([&] { read_quantity256_result(json); });
  attempt([&] { read_hash_result(json); });
  attempt([&] { read_first_account(json); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // The readers are handed results, which are JSON already: what is none is tried as a text inside some.
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (!rpcroute::text::json_problem(bytes)) read_all(bytes);
  read_all(rpcroute::text::json_literal(bytes));
  return 0;
}

#include "chain/identity.hpp"

#include "chain/receipt.hpp"
#include "text/json.hpp"
#include "text/utf8.hpp"

namespace rpcroute::chain {
namespace {

std::optional<std::int64_t> timestamp_of_block(std::string_view result_json) {
  const auto block = read_block(result_json);
  if (!block || !block->timestamp) return std::nullopt;
  return static_cast<std::int64_t>(*block->timestamp);
}

}  // namespace

std::string Identity::mismatch(std::optional<std::uint64_t> expected_id, std::string_view expected_genesis) const {
  if (chain_id && expected_id && *chain_id != *expected_id) {
    return "the node is on chain " + std::to_string(*chain_id) + ", not on " + std::to_string(*expected_id);
  }
  if (!genesis_hash.empty() && !expected_genesis.empty() && genesis_hash != expected_genesis) {
    return "the node is on the chain of genesis " + text::printable(genesis_hash, 64) + ", not on that of " +
           text::printable(expected_genesis, 64);
  }
  return {};
}

Identity identity_of(std::string_view method, std::string_view result_json) {
  Identity identity;
  try {
    if (method == "eth_chainId") identity.chain_id = read_quantity_result(result_json);
    if (method == "eth_getBlockByNumber") identity.block_timestamp = timestamp_of_block(result_json);
    if (method == "getGenesisHash") identity.genesis_hash = text::JsonTree(result_json).root().text();
  } catch (const Misread&) {
  }
  return identity;
}

}  // namespace rpcroute::chain

// The providers of one chain, and which of them may be drawn, asked and believed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "chain/receipt.hpp"
#include "rpc/client.hpp"
#include "rpc/failure.hpp"
#include "rpc/provider.hpp"

namespace rpcroute::transaction {

/// A block by its height and hash.
struct BlockId {
  std::uint64_t number = 0;
  std::string hash;

  auto operator<=>(const BlockId&) const = default;
};

/// One provider and its standing.
struct Member {
  rpc::Provider provider;
  bool verified = false;                 ///< answered eth_chainId with the chain's
  std::optional<rpc::Failure> excluded;  ///< wrong_chain, mainnet or config: neither drawn nor asked
  std::optional<rpc::Failure> silence;   ///< why eth_chainId had no answer, the last time it was asked
};

/// What tells chains apart: the name, else the number.
std::string chain_of(const rpc::Provider& provider);

/// Those of `candidates` that tx_probe may concern: EVM, and of one chain, which the `forced` ones decide when there
/// are any, else the non-mainnet ones when there are any. Mainnets that are left are there to be refused by name.
/// Throws std::invalid_argument when no candidate is EVM, or naming the chains when there are several.
std::vector<rpc::Provider> providers_of_one_chain(std::vector<rpc::Provider> candidates,
                                                  const std::vector<std::string>& forced, bool allow_mainnet);

/// Ordered by provider_id, so that a seed gives the same draws whatever order a query found them in.
class Fleet {
 public:
  Fleet(std::vector<rpc::Provider> providers, bool allow_mainnet);

  std::size_t size() const { return members_.size(); }
  const Member& operator[](std::size_t i) const { return members_[i]; }

  /// Reads eth_chainId's answers, one for each of `asked`. A provider whose chain id is configured must answer it; the
  /// others that of their neighbours, or what all of them agree on. Silence excludes nobody. Throws
  /// std::invalid_argument when nothing is configured and the answers differ.
  void hear_chain_ids(const std::vector<std::size_t>& asked, std::span<const rpc::Answer> answers);

  /// Reads answers to eth_getBlockByNumber for "0x0" and for "latest", one for each of `asked`. The block that most
  /// verified providers show counts; where there are several, two at least must agree.
  void hear_genesis(const std::vector<std::size_t>& asked, std::span<const rpc::Answer> answers);
  void hear_latest(const std::vector<std::size_t>& asked, std::span<const rpc::Answer> answers);

  /// Hash of the chain's first block; empty when nobody told.
  const std::string& genesis() const { return genesis_; }

  /// A recent block of the chain: another chain has another one at its height. Empty when providers agree on none.
  const std::optional<BlockId>& latest() const { return latest_; }

  /// Known after the first answer.
  std::optional<std::uint64_t> chain_id() const { return chain_id_; }

  std::vector<std::size_t> all_asked() const;  ///< not excluded
  std::vector<std::size_t> verified() const;
  std::vector<std::size_t> unverified() const;  ///< not excluded

  std::optional<std::size_t> find(const std::string& provider_id) const;

  /// Of the chain, as its providers' rows have it.
  rpc::Clock::duration block_time() const;
  std::int64_t head_max_ahead() const;

 private:
  void hear_chain_id(std::size_t i, const rpc::Answer& answer);
  void adopt_chain_id(const std::vector<std::size_t>& asked, std::span<const rpc::Answer> answers);

  std::optional<BlockId> agreed_block(const std::vector<std::size_t>& asked,
                                      std::span<const rpc::Answer> answers) const;

  std::vector<Member> members_;
  std::optional<std::uint64_t> chain_id_;
  std::string genesis_;
  std::optional<BlockId> latest_;
  bool allow_mainnet_;
};

/// One fleet for each chain of the providers; mainnets included, since whoever signed has allowed them.
class Fleets {
 public:
  explicit Fleets(const std::vector<rpc::Provider>& providers);

  /// The fleet that has the provider, and its place there.
  struct Place {
    Fleet* fleet = nullptr;
    std::optional<std::size_t> own;
  };

  /// Where the provider is; when it is nowhere, the only fleet there is or the one of that chain id, without a place;
  /// when that is nothing either, no fleet.
  Place find(const std::string& provider_id, std::optional<std::uint64_t> chain_id) const;

  std::vector<Fleet*> all() const;

 private:
  std::vector<std::unique_ptr<Fleet>> fleets_;
};

/// The call `method(params)` at provider `i`.
rpc::Call call_to(const Fleet& fleet, std::size_t i, std::string method, std::string params, rpc::Milliseconds timeout);

/// The same call at each of `whom`.
std::vector<rpc::Call> calls_to(const Fleet& fleet, const std::vector<std::size_t>& whom, const std::string& method,
                                const std::string& params, rpc::Milliseconds timeout);

void append(std::vector<rpc::Call>& calls, std::vector<rpc::Call> more);

/// What `read` reads of a result; nullopt for a failure, and when it is not what the method promises.
template <class Read>
auto read_of(const rpc::Answer& answer, Read&& read) -> std::optional<decltype(read(answer.result))> {
  if (answer.failure) return std::nullopt;
  try {
    return read(answer.result);
  } catch (const chain::Misread&) {
    return std::nullopt;
  }
}

/// A block; nullopt for a failure, null or anything else.
std::optional<chain::Block> block_of(const rpc::Answer& answer);

/// A quantity result below 2^63, which is all that a height or a count can be; nullopt for a failure or anything else.
std::optional<std::uint64_t> quantity_of(const rpc::Answer& answer);

/// A JSON array of strings. They must need no escaping.
std::string json_strings(std::initializer_list<std::string> texts);

}  // namespace rpcroute::transaction

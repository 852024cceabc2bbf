// The providers of one chain, and which of them may be drawn, asked and believed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "chain/receipt.hpp"
#include "rpc/client.hpp"
#include "rpc/failure.hpp"
#include "rpc/provider.hpp"

namespace rpcroute::transaction {

/// One provider and its standing.
struct Endpoint {
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

  std::size_t size() const { return endpoints_.size(); }
  const Endpoint& operator[](std::size_t i) const { return endpoints_[i]; }

  /// Reads eth_chainId's answers, one for each of `asked`. A provider whose chain id is configured must answer it; the
  /// others that of their neighbours, or what all of them agree on. Silence excludes nobody. Throws
  /// std::invalid_argument when nothing is configured and the answers differ.
  void hear_chain_ids(const std::vector<std::size_t>& asked, const std::vector<rpc::Answer>& answers);

  void exclude(std::size_t i, rpc::Failure failure);

  /// Reads answers to eth_getBlockByNumber("0x0"), one for each of `asked`; those of verified providers count.
  void hear_genesis(const std::vector<std::size_t>& asked, const std::vector<rpc::Answer>& answers);

  /// Hash of the chain's first block; empty when nobody told.
  const std::string& genesis() const { return genesis_; }

  /// Known after the first answer.
  std::optional<std::uint64_t> chain_id() const { return chain_id_; }

  std::vector<std::size_t> all_asked() const;  ///< not excluded
  std::vector<std::size_t> verified() const;
  std::vector<std::size_t> unverified() const;  ///< not excluded

  std::optional<std::size_t> find(const std::string& provider_id) const;

 private:
  void hear_chain_id(std::size_t i, const rpc::Answer& answer);
  void adopt_chain_id(const std::vector<std::size_t>& asked, const std::vector<rpc::Answer>& answers);

  std::vector<Endpoint> endpoints_;
  std::optional<std::uint64_t> chain_id_;
  std::string genesis_;
  bool allow_mainnet_;
};

/// The call `method(params)` at endpoint `i`.
rpc::Call call_to(const Fleet& fleet, std::size_t i, std::string method, std::string params, rpc::Milliseconds timeout);

/// The same call at each of `whom`.
std::vector<rpc::Call> calls_to(const Fleet& fleet, const std::vector<std::size_t>& whom, const std::string& method,
                                const std::string& params, rpc::Milliseconds timeout);

/// A block; nullopt for a failure, null or anything else.
std::optional<chain::Block> block_of(const rpc::Answer& answer);

/// A quantity result; nullopt for a failure or anything else.
std::optional<std::uint64_t> quantity_of(const rpc::Answer& answer);

/// A JSON array of strings. They must need no escaping.
std::string json_strings(std::initializer_list<std::string> texts);

/// Heights that providers answered at about the same time. A head counts when another one reaches it to within 512
/// blocks, so that one provider on another chain moves nothing, or when it is the only one.
class Heads {
 public:
  void add(std::optional<std::uint64_t> head, bool is_own);

  /// The highest that counts; empty when there is none.
  std::optional<std::uint64_t> of_all() const;

  /// The same without the drawn provider's; with it when there is no other.
  std::optional<std::uint64_t> of_others() const;

 private:
  std::vector<std::uint64_t> others_;
  std::vector<std::uint64_t> all_;
};

}  // namespace rpcroute::transaction

// The second door: prepared bytes on their way, whatever happened to the process that prepared them.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "transaction/life/life.hpp"
#include "transaction/nonce/counts.hpp"
#include "transaction/reference.hpp"

namespace rpcroute::transaction {

/// Known already? → are those before it on their way? → is its number its own? → delivery.
class SendLife final : public Life {
 public:
  SendLife(const Surroundings& surroundings, const Fleets::Place& place, ReadTransaction read, Record record,
           bool timestamp_known);

  void start() override;

 private:
  struct Gap {
    std::uint64_t number;
    bool may_yet_be_filled;         ///< a living process has prepared it, or what was sent may be on its way
    std::optional<BookEntry> sent;  ///< under that number, and nobody counts it
  };

  std::uint64_t nonce() const { return read_.transaction.nonce; }
  void hear_search(const SearchResult& result);
  void count_earlier();
  void hear_counts(const std::vector<rpc::Answer>& answers);
  void claim(const std::vector<AccountCount>& counts);
  std::optional<Gap> first_gap(const NonceLease& lease, std::uint64_t pending) const;
  void wait_for(const Gap& gap);
  void look_up(const BookEntry& sent);
  void send(std::optional<NonceLease> lease);
  void delivered(const DeliveryOutcome& outcome) override;
  void postpone(const rpc::Failure& failure);
  void fail(const rpc::Failure& failure);
  bool has_left_before() const;
  void stay(State state);
  rpc::Failure no_provider() const;
  bool is_late() const;

  ReadTransaction read_;
  double expires_;  ///< Unix seconds; 0: never
  rpc::Clock::time_point started_;
  std::optional<std::uint64_t> head_;
  CarefulCount count_;
  int looks_ = 0;
  std::set<std::uint64_t> shown_;         ///< earlier numbers whose bytes somebody shows
  std::map<std::uint64_t, int> denials_;  ///< of bytes that were sent under earlier numbers
  bool is_denied_ = false;                ///< somebody answered that it does not know it
  bool left_before_ = false;              ///< an earlier run has sent it, as the book said when this one did
};

}  // namespace rpcroute::transaction

// The life of a transaction: numbered → delivered → watched → record. It is entered at three doors: probe, send, wait.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "transaction/conversation/exchange.hpp"
#include "transaction/conversation/fleet.hpp"
#include "transaction/life/broadcasts.hpp"
#include "transaction/life/delivery.hpp"
#include "transaction/life/head.hpp"
#include "transaction/life/watch.hpp"
#include "transaction/nonce/book.hpp"
#include "transaction/nonce/claim.hpp"
#include "transaction/record.hpp"
#include "transaction/reference.hpp"

namespace rpcroute::transaction {

/// How long and how often a transaction is looked for.
struct FollowPlan {
  double timeout_sec = 300;              ///< from the broadcast to giving up, 0.1..86400
  double poll_ms = 500;                  ///< between two looks for a receipt at one provider, 10..60000
  rpc::Milliseconds call_timeout{3500};  ///< of one request

  rpc::Clock::duration beat() const { return clock_seconds(poll_ms / 1000); }
  rpc::Clock::duration timeout() const { return clock_seconds(timeout_sec); }
};

/// What the lives of one statement share. All is borrowed and outlives them.
struct Surroundings {
  Exchange& exchange;
  const NonceBook& book;
  Broadcasts& broadcasts;
  const FollowPlan& plan;
};

/// What every door shares. Must stay where it is between start() and its end.
class Life {
 public:
  virtual ~Life() = default;
  Life(const Life&) = delete;
  Life& operator=(const Life&) = delete;

  virtual void start() = 0;

  bool finished() const { return finished_; }
  const Record& record() const { return record_; }

 protected:
  /// `fleet` may be null where no provider is known; `own` is the drawn one.
  Life(const Surroundings& surroundings, Fleet* fleet, std::optional<std::size_t> own, Record record);

  /// Hands the transaction over; claim_ says by now that its number is its own. Continues with delivered(), with `lost`
  /// at the latest after `patience`.
  void deliver(rpc::Call call, std::optional<NodeTransaction> node_transaction, rpc::Clock::duration patience);

  /// What came of the delivery. Unless it ends the life here, a door that waits goes on watching.
  virtual void delivered(const DeliveryOutcome& outcome) = 0;

  /// Looks for the receipt until `deadline`. `started`: the moment of the broadcast, where this process knows it.
  void watch(rpc::Clock::time_point deadline);

  /// Time is over, nobody shows a block that holds it, and nobody could be asked whether they know it.
  virtual void unheard();

  /// It is lost: charged its limit.
  void charge();

  /// It may be lost, or not: nobody could be asked, and nobody is charged.
  void leave_unobserved(const std::string& why);

  /// How long a door that does not wait for the receipt waits for what becomes of an unclear sending.
  rpc::Clock::duration brief_patience() const;

  /// Its fee cap, wei per gas: bounds what it costs.
  void set_max_fee(std::uint64_t max_fee);

  void remember_broadcast();
  void note(BookStage stage);
  void finish(State state);

  Surroundings surroundings_;
  Fleet* fleet_;
  std::optional<std::size_t> own_;
  Record record_;
  Conversation conversation_;
  std::optional<Claim> claim_;
  std::unique_ptr<Delivery> delivery_;
  std::optional<BroadcastHead> broadcast_head_;
  std::optional<BroadcastHead> looking_head_;        ///< when looking began, where that was after the broadcast
  std::optional<rpc::Clock::time_point> broadcast_;  ///< when it left, where this process knows
  std::optional<double> prepared_;                   ///< the row's timestamp before it left

 private:
  void look();
  void give_up();
  void ask_last_word();
  void hear_last_word(const SearchResult& result);
  void weigh_last_word(const SearchResult& result);
  void conclude(const SearchResult& result);
  void settle(const Sight& sight);
  void note_mined(const BlockId& block);
  void time(const Sight& sight);
  bool came_while_looking(const Sight& sight) const;

  std::optional<std::uint64_t> max_fee_;  ///< empty where nothing but its hash is known
  std::unique_ptr<Watch> watch_;
  std::optional<DeliveryOutcome> complaint_;  ///< the provider said no
  bool over_ = false;                         ///< the time limit has passed
  rpc::Clock::time_point over_since_;
  int denials_ = 0;    ///< last words that denied it
  int sightings_ = 0;  ///< and those that showed it, waiting
  bool finished_ = false;

 protected:
  bool is_watching() const { return watch_ != nullptr; }
};

/// The claim that signed bytes have to their number, whoever has given it.
Claim claim_of(const NonceBook& book, const ReadTransaction& read, const Record& record, const Fleet* fleet);

}  // namespace rpcroute::transaction

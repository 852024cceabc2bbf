// Handing one transaction to one provider, and finding out whether it was taken.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "transaction/conversation/exchange.hpp"
#include "transaction/conversation/fleet.hpp"
#include "transaction/conversation/search.hpp"
#include "transaction/life/verdict.hpp"

namespace rpcroute::transaction {

enum class DeliveryEnd {
  accepted,  ///< acknowledged, or found at some provider after a bad answer
  refused,   ///< a provider said no, and nobody knows the transaction
  unsent,    ///< it did not leave, and nobody knows it
  vanished,  ///< it left, and its provider and the others have long denied it: nobody has it
  lost,      ///< it left, and nobody could tell what became of it in time: it may have landed
};

struct DeliveryOutcome {
  DeliveryEnd end = DeliveryEnd::refused;
  std::optional<rpc::Failure> failure;  ///< of the answer, or that there was none
  bool complained = false;              ///< the provider said no, in whatever words
  bool denied = false;                  ///< its provider, and another where one answered, denied it in the last look
  std::string tx_hash;                  ///< empty when the node signs and nothing came of it
  std::optional<double> submit_ms;      ///< broadcast → acknowledgement
  bool was_known = false;               ///< accepted, and the provider seems to have had it before
};

/// The call that hands a transaction over, with the patience an acknowledgement deserves. The client never repeats it
/// by itself, as it would on a kept connection that breaks: the moment the bytes left would be lost.
rpc::Call call_to_send(const Fleet& fleet, std::size_t i, std::string method, std::string params);

/// How long an unclear transaction is looked up at most: its blocks, and what the questions take.
rpc::Clock::duration longest_doubt(const Fleet& fleet, rpc::Milliseconds call_timeout);

/// Sends once. A bad answer is never the last word: every provider is asked for the transaction before it is called
/// refused. How long it is looked for depends on what the answer left open:
///  - unsent: one round;
///  - refused: until the drawn provider itself, and another where one answers, have denied it in three rounds;
///  - doubted: the same, and the chain has grown by three blocks or their time has passed;
///  - unclear: the same with five blocks, or until it is given up: it left, and is never refused. What a node signed
///    is lost as soon as its number is used in three rounds and nobody shows by what: none can find it any more.
/// A provider that refused it in plain words and answers no question for it denies it by that, three rounds and blocks
/// long, in which the others deny it.
class Delivery {
 public:
  using Then = std::function<void(const DeliveryOutcome&)>;

  /// `tx_hash` is empty when the node signs; then `node_transaction` tells what to look for.
  Delivery(Exchange& exchange, const Fleet& fleet, std::size_t own, std::string tx_hash,
           std::optional<NodeTransaction> node_transaction, rpc::Clock::duration beat, rpc::Milliseconds call_timeout,
           Then then);

  void start(rpc::Call call);

  /// A receipt was seen: whatever was or will be answered, it was taken.
  void confirm();

  /// Time is over: continues with `lost` unless it has ended. Withdraws everything.
  void give_up();

  bool ended() const { return ended_; }

  /// Just before the bytes left; before the answer came, when they were handed over.
  rpc::Clock::time_point started() const { return started_; }
  double timestamp() const { return timestamp_; }

 private:
  void hear(const rpc::Answer& answer);
  void check_hash(const rpc::Answer& answer);
  void search();
  void weigh(const SearchResult& result);
  std::optional<DeliveryEnd> refuted() const;
  bool has_lasted(int blocks) const;
  void end(DeliveryEnd how);

  Conversation conversation_;
  const Fleet& fleet_;
  std::size_t own_;
  std::optional<NodeTransaction> node_transaction_;
  rpc::Clock::duration beat_;
  rpc::Milliseconds call_timeout_;
  Then then_;
  DeliveryOutcome outcome_;
  Acceptance acceptance_ = Acceptance::unclear;
  rpc::Clock::time_point started_;
  rpc::Clock::time_point answered_;
  double timestamp_ = 0;
  bool confirmed_ = false;
  bool has_answer_ = false;
  bool ended_ = false;
  int rounds_ = 0;
  int denials_ = 0;
  int silences_ = 0;
  int uses_ = 0;  ///< looks that found its number used
  std::optional<std::uint64_t> first_head_;
  std::optional<std::uint64_t> last_head_;
};

}  // namespace rpcroute::transaction

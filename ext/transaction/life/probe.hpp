// The life of one probe transaction, from the draw to its row.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "chain/evm_signer.hpp"
#include "chain/fees.hpp"
#include "transaction/transaction.hpp"
#include "transaction/life/delivery.hpp"
#include "transaction/life/head.hpp"
#include "transaction/nonce/request.hpp"
#include "transaction/life/watch.hpp"

namespace rpcroute::transaction {

/// What the transactions of a scan share. All is borrowed and outlives them.
struct ProbeContext {
  Exchange& exchange;
  Fleet& fleet;
  NonceBook& book;
  const TransactionPlan& plan;
  const std::string& region;
  chain::Fees fees;
};

/// Numbers, signs, sends and follows one transaction: account → nonce → delivery → watch → record. Must stay where it
/// is between start() and its end.
class TransactionProbe {
 public:
  /// `key` is empty when the node signs.
  TransactionProbe(const ProbeContext& context, const chain::PrivateKey* key, std::size_t own,
                   std::optional<double> propensity);

  /// One that is given up amid its delivery may have been taken: the book keeps its number.
  ~TransactionProbe();
  TransactionProbe(const TransactionProbe&) = delete;
  TransactionProbe& operator=(const TransactionProbe&) = delete;

  void start();

  /// Ends it at once, with nothing sent.
  void refuse(rpc::Failure failure);

  bool finished() const { return finished_; }
  const TransactionRecord& record() const { return record_; }

  /// It was sent, or its signed bytes were handed out: it may cost what it can cost.
  bool may_cost() const { return record_.state != TransactionState::rejected; }

 private:
  void ask_account();
  void ask_nonce(const std::string& account);
  void number(Numbering numbering);
  void sign_and_send();
  void send_by_node();
  void deliver(rpc::Call call, std::optional<NodeTransaction> node_transaction);
  void hear_delivery(const DeliveryOutcome& outcome);
  void accept(const DeliveryOutcome& outcome);
  void write_book(BookStage stage);
  void release_nonce();
  void watch();
  void look();
  void give_up();
  void time_out();
  void resolve(const Sight& sight);
  void time(const Sight& sight);
  void finish(TransactionState state);
  void fail(rpc::ErrorClass error_class, const std::string& message);
  double since_start(rpc::Clock::time_point moment) const;

  ProbeContext context_;
  const chain::PrivateKey* key_;
  std::size_t own_;
  std::string account_;
  Conversation conversation_;
  std::unique_ptr<NonceRequest> nonce_request_;
  Numbering numbering_;
  std::unique_ptr<Delivery> delivery_;
  std::optional<BroadcastHead> broadcast_head_;
  std::unique_ptr<Watch> watch_;
  TransactionRecord record_;
  bool resolving_ = false;
  bool over_ = false;  ///< the time limit has passed
  bool finished_ = false;
};

/// Puts what a receipt says into a record; durations are the caller's.
void fill_from_receipt(TransactionRecord& record, const chain::Receipt& receipt);

/// The time of the block that eth_getBlockByNumber answered, if it did.
std::optional<std::int64_t> block_timestamp_of(const rpc::Answer& answer);

/// A record that names its provider and nothing more.
TransactionRecord record_for(const rpc::Provider& provider, const std::string& region, double timestamp);

}  // namespace rpcroute::transaction

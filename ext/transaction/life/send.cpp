// TransactionSend: prepared bytes on their way, whatever happened to the process that prepared them.
#include <algorithm>
#include <deque>
#include <stdexcept>

#include "transaction/life/delivery.hpp"
#include "transaction/life/head.hpp"
#include "transaction/nonce/request.hpp"
#include "transaction/life/probe.hpp"
#include "transaction/reference.hpp"

namespace rpcroute::transaction {
namespace {

/// How long an unclear answer is looked into before the transaction is left to tx_wait.
constexpr double patience_sec = 20;

/// How often earlier numbers are looked for, a beat apart, before they are called missing: providers may lag.
constexpr int looks_for_earlier = 3;

/// How often another holder of the account's book is waited for, and for how long each time.
constexpr int tries_for_lease = 100;
constexpr rpc::Milliseconds lease_beat{20};

/// What all of a statement's sends share.
struct SendContext {
  Exchange& exchange;
  NonceBook& book;
  const TransactionFollowPlan& plan;
};

/// One transaction: known already? → are those before it on their way? → delivery.
class SendJob {
 public:
  SendJob(const SendContext& context, Fleets::Place place, ReadTransaction read, TransactionRecord record,
          bool timestamp_known)
      : context_(context),
        place_(place),
        read_(std::move(read)),
        record_(std::move(record)),
        expires_(timestamp_known ? record_.timestamp + context.plan.timeout_sec : 0),
        conversation_(context.exchange) {}
  SendJob(const SendJob&) = delete;
  SendJob& operator=(const SendJob&) = delete;

  const std::string& account() const { return read_.account; }
  std::uint64_t nonce() const { return read_.transaction.nonce; }
  bool finished() const { return finished_; }
  const TransactionRecord& record() const { return record_; }

  void start() {
    started_ = conversation_.now();
    if (!place_.own) {
      return postpone({rpc::ErrorClass::config, "", "there is no provider " + record_.provider_id, {}});
    }
    search_by_hash(conversation_, fleet(), *record_.tx_hash, *place_.own, context_.plan.call_timeout,
                   [this](const SearchResult& result) { hear_search(result); });
  }

 private:
  Fleet& fleet() const { return *place_.fleet; }
  const Endpoint& own() const { return fleet()[*place_.own]; }

  void hear_search(const SearchResult& result) {
    if (result.tx_hash) return finish(TransactionState::pending);  // a process that was killed has sent it
    if (result.head) record_.submit_head = static_cast<std::int64_t>(*result.head);
    if (own().excluded) return fail_or_postpone(*own().excluded);
    if (!own().verified) return postpone(*own().silence);
    if (read_.transaction.chain_id != fleet().chain_id()) {
      return fail({rpc::ErrorClass::wrong_chain, "", "it was signed for another chain", {}});
    }
    count_earlier();
  }

  void count_earlier() {
    std::vector<rpc::Call> calls;
    for (const char* tag : {"latest", "pending"}) {
      for (const std::size_t i : fleet().verified()) {
        calls.push_back(call_to(fleet(), i, "eth_getTransactionCount", json_strings({read_.account, tag}),
                                context_.plan.call_timeout));
      }
    }
    conversation_.ask_all(std::move(calls), [this](const std::vector<rpc::Answer>& answers) { hear_counts(answers); });
  }

  void hear_counts(const std::vector<rpc::Answer>& answers) {
    std::uint64_t latest = 0;
    std::optional<std::uint64_t> pending;
    for (std::size_t k = 0; k < answers.size(); ++k) {
      const auto count = quantity_of(answers[k]);
      if (!count) continue;
      if (k < answers.size() / 2) latest = std::max(latest, *count);
      pending = std::max(pending.value_or(0), *count);
    }
    if (!pending) {
      return postpone({rpc::ErrorClass::malformed, "", "no provider tells the account's transaction count", {}});
    }
    if (nonce() > latest) record_.overlap = static_cast<std::int64_t>(nonce() - latest);
    const auto gap = first_gap(*pending);
    if (!gap) return deliver();
    if (!gap->may_yet_be_filled) ++looks_;
    const bool is_late = seconds_between(started_, conversation_.now()) >= context_.plan.timeout_sec;
    if (looks_ >= looks_for_earlier || is_late) {
      return fail({rpc::ErrorClass::nonce,
                   "",
                   "transaction " + std::to_string(gap->number) +
                       " of the account, which must come before it, was not sent; so this one was not either",
                   {}});
    }
    conversation_.at(conversation_.now() + clock_seconds(context_.plan.poll_ms / 1000), [this] { count_earlier(); });
  }

  struct Gap {
    std::uint64_t number;
    bool may_yet_be_filled;  ///< a living process has prepared it, or is at the book
  };

  /// The first number before this one that neither the providers (they count up to `pending`) nor the book know to be
  /// used. Behind it a transaction would wait for ever, at the expense of its provider's record.
  std::optional<Gap> first_gap(std::uint64_t pending) const {
    if (nonce() <= pending) return std::nullopt;
    const auto lease = context_.book.try_lease(read_.transaction.chain_id, read_.account);
    if (!lease) return Gap{pending, true};
    const auto entries = lease->entries(fleet().genesis());
    for (std::uint64_t number = pending; number < nonce(); ++number) {
      const auto entry = entries.find(number);
      if (entry == entries.end()) return Gap{number, false};
      if (entry->second.stage != BookStage::prepared) continue;
      return Gap{number, may_yet_leave(entry->second, conversation_.unix_now())};
    }
    return std::nullopt;
  }

  void deliver() {
    delivery_ = std::make_unique<Delivery>(context_.exchange, fleet(), *place_.own, *record_.tx_hash, std::nullopt,
                                           clock_seconds(context_.plan.poll_ms / 1000), context_.plan.call_timeout,
                                           [this](const DeliveryOutcome& outcome) { hear_delivery(outcome); });
    delivery_->start(call_to_send(fleet(), *place_.own, "eth_sendRawTransaction", json_strings({*record_.raw})));
    broadcast_head_.emplace(conversation_, fleet(), *place_.own, context_.plan.call_timeout);
    conversation_.at(conversation_.now() + clock_seconds(patience_sec), [this] { delivery_->give_up(); });
  }

  void hear_delivery(const DeliveryOutcome& outcome) {
    if (outcome.end == DeliveryEnd::accepted && outcome.was_known) return accept_known();
    record_.timestamp = delivery_->timestamp();
    const rpc::Failure failure{outcome.verdict.error_class, "", outcome.verdict.message, {}};
    switch (outcome.end) {
      case DeliveryEnd::accepted:
        record_.submit_ms = outcome.submit_ms;
        return accept();
      case DeliveryEnd::lost:
        note(failure);
        return accept();
      case DeliveryEnd::unsent:
        return postpone(failure);
      case DeliveryEnd::refused:
        return fail(failure);
    }
  }

  void accept() {
    record_.submit_head = broadcast_head_->of_others(record_.submit_head);
    context_.book.remember(*record_.tx_hash, {delivery_->started(), record_.timestamp, record_.submit_ms,
                                              record_.submit_head, std::nullopt, record_.overlap});
    close(TransactionState::pending);
  }

  /// An earlier run may have sent it, whatever the search saw: then nobody knows any more when it left, and to time it
  /// from now would flatter its provider.
  void accept_known() {
    record_.submit_head.reset();
    close(TransactionState::pending);
  }

  void note(const rpc::Failure& failure) {
    record_.error_class = failure.error_class;
    record_.error = failure.message;
  }

  /// It has not left and may be sent again, unless its time is over.
  void postpone(const rpc::Failure& failure) {
    if (expires_ != 0 && conversation_.unix_now() >= expires_) return fail(failure);
    note(failure);
    record_.submit_head.reset();
    close(TransactionState::prepared);
  }

  void fail_or_postpone(const rpc::Failure& failure) {
    failure.error_class == rpc::ErrorClass::config ? postpone(failure) : fail(failure);
  }

  void fail(const rpc::Failure& failure) {
    note(failure);
    record_.raw.reset();
    close(TransactionState::rejected);
  }

  /// Ends once the book has it: whoever prepared a later number looks there whether to wait for this one. One that did
  /// not leave keeps nobody waiting.
  void close(TransactionState state) {
    auto lease = context_.book.try_lease(read_.transaction.chain_id, read_.account);
    if (!lease && ++tries_ < tries_for_lease) {
      conversation_.at(conversation_.now() + lease_beat, [this, state] { close(state); });
      return;
    }
    if (lease && state == TransactionState::pending) {
      lease->put({nonce(), BookStage::sent, *record_.tx_hash, record_.provider_id, fleet().genesis(),
                  static_cast<std::uint64_t>(record_.submit_head.value_or(0)), conversation_.unix_now(), this_process(),
                  this_process_started()});
    } else if (lease) {
      lease->erase(nonce(), *record_.tx_hash);
    }
    finish(state);
  }

  void finish(TransactionState state) {
    record_.state = state;
    finished_ = true;
    conversation_.withdraw();
  }

  SendContext context_;
  Fleets::Place place_;
  ReadTransaction read_;
  TransactionRecord record_;
  double expires_;
  Conversation conversation_;
  std::unique_ptr<Delivery> delivery_;
  std::optional<BroadcastHead> broadcast_head_;
  rpc::Clock::time_point started_;
  int looks_ = 0;
  int tries_ = 0;
  bool finished_ = false;
};

}  // namespace

class TransactionSend::Impl {
 public:
  Impl(Transport& transport, std::vector<TransactionReference> transactions,
       const std::vector<rpc::Provider>& providers, TransactionFollowPlan plan, const std::string& region,
       rpc::Interrupt interrupt, NonceBook& book)
      : plan_(plan),
        interrupt_(std::move(interrupt)),
        exchange_(transport),
        conversation_(exchange_),
        fleets_(providers) {
    check(plan_);
    for (const TransactionReference& reference : transactions) {
      ReadTransaction read = read_reference(reference);
      const Fleets::Place place = fleets_.find(reference.provider_id, read.transaction.chain_id);
      TransactionRecord record = record_for(reference, read, place, region, exchange_.unix_now());
      jobs_.push_back(std::make_unique<SendJob>(SendContext{exchange_, book, plan_}, place, std::move(read),
                                                std::move(record), reference.timestamp.has_value()));
    }
    std::stable_sort(jobs_.begin(), jobs_.end(), [](const auto& a, const auto& b) { return a->nonce() < b->nonce(); });
  }

  std::optional<TransactionRecord> next() {
    if (jobs_.empty()) return std::nullopt;
    if (!verified_) verify();
    while (true) {
      start_jobs();
      if (auto record = take_finished()) return record;
      if (jobs_.empty()) return std::nullopt;
      exchange_.step(interrupt_);
    }
  }

 private:
  void verify() {
    std::size_t missing = 0;
    for (Fleet* fleet : fleets_.all()) {
      ++missing;
      const auto whom = fleet->all_asked();
      auto calls = calls_to(*fleet, whom, "eth_chainId", "[]", plan_.call_timeout);
      for (auto& call : calls_to(*fleet, whom, "eth_getBlockByNumber", R"(["0x0",false])", plan_.call_timeout)) {
        calls.push_back(std::move(call));
      }
      conversation_.ask_all(std::move(calls), [&missing, fleet, whom](const std::vector<rpc::Answer>& answers) {
        const auto middle = answers.begin() + static_cast<std::ptrdiff_t>(whom.size());
        fleet->hear_chain_ids(whom, {answers.begin(), middle});
        fleet->hear_genesis(whom, {middle, answers.end()});
        --missing;
      });
    }
    while (missing > 0) exchange_.step(interrupt_);
    verified_ = true;
  }

  /// One at a time for each account, in the order of their numbers.
  void start_jobs() {
    std::vector<std::string> busy;
    for (const auto& job : jobs_) {
      const bool waits = std::find(busy.begin(), busy.end(), job->account()) != busy.end();
      if (waits) continue;
      busy.push_back(job->account());
      if (std::find(started_.begin(), started_.end(), job.get()) != started_.end()) continue;
      started_.push_back(job.get());
      job->start();
    }
  }

  std::optional<TransactionRecord> take_finished() {
    const auto done = std::find_if(jobs_.begin(), jobs_.end(), [](const auto& job) { return job->finished(); });
    if (done == jobs_.end()) return std::nullopt;
    TransactionRecord record = (*done)->record();
    std::erase(started_, done->get());
    jobs_.erase(done);
    return record;
  }

  TransactionFollowPlan plan_;
  rpc::Interrupt interrupt_;
  Exchange exchange_;
  Conversation conversation_;
  Fleets fleets_;
  bool verified_ = false;
  std::vector<std::unique_ptr<SendJob>> jobs_;  ///< those that are not finished
  std::vector<const SendJob*> started_;
};

TransactionSend::TransactionSend(Transport& transport, std::vector<TransactionReference> transactions,
                                 std::vector<rpc::Provider> providers, TransactionFollowPlan plan, std::string region,
                                 rpc::Interrupt interrupt, NonceBook& book)
    : impl_(std::make_unique<Impl>(transport, std::move(transactions), providers, plan, region, std::move(interrupt),
                                   book)) {}

TransactionSend::~TransactionSend() = default;

std::optional<TransactionRecord> TransactionSend::next() {
  return impl_->next();
}

}  // namespace rpcroute::transaction

// TransactionWait: what became of transactions that were sent, by this process or another.
#include <algorithm>
#include <stdexcept>

#include "transaction/life/probe.hpp"
#include "transaction/reference.hpp"
#include "transaction/conversation/search.hpp"
#include "transaction/life/watch.hpp"

namespace rpcroute::transaction {
namespace {

/// A first sight tells the moment of inclusion when the look before it came no longer than this many beats earlier.
constexpr double sharp_beats = 2;
constexpr double sharp_slack_sec = 0.25;

struct WaitContext {
  Exchange& exchange;
  NonceBook& book;
  const TransactionFollowPlan& plan;
};

class WaitJob {
 public:
  WaitJob(const WaitContext& context, Fleets::Place place, std::optional<ReadTransaction> read,
          TransactionRecord record)
      : context_(context),
        place_(place),
        read_(std::move(read)),
        record_(std::move(record)),
        broadcast_(context.book.broadcast(*record_.tx_hash)),
        conversation_(context.exchange) {
    if (!broadcast_) return;
    record_.timestamp = broadcast_->timestamp;
    record_.submit_ms = broadcast_->submit_ms;
    record_.submit_head = broadcast_->submit_head;
    record_.propensity = broadcast_->propensity;
    record_.overlap = broadcast_->overlap;
  }
  WaitJob(const WaitJob&) = delete;
  WaitJob& operator=(const WaitJob&) = delete;

  bool finished() const { return finished_; }
  const TransactionRecord& record() const { return record_; }

  void start() {
    if (place_.fleet == nullptr) {
      return leave({rpc::ErrorClass::config, "", "there is no provider " + record_.provider_id, {}});
    }
    const auto beat = clock_seconds(context_.plan.poll_ms / 1000);
    watch_ = std::make_unique<Watch>(context_.exchange, *place_.fleet, *record_.tx_hash, place_.own, beat,
                                     context_.plan.call_timeout, [this] { look(); });
    watch_->start();
    // One that is overdue is looked for all the same, twice.
    conversation_.at(std::max(deadline(), conversation_.now() + 2 * beat), [this] { give_up(); });
  }

 private:
  rpc::Clock::time_point deadline() const {
    if (broadcast_) return broadcast_->started + clock_seconds(context_.plan.timeout_sec);
    const double left = record_.timestamp + context_.plan.timeout_sec - conversation_.unix_now();
    return conversation_.now() + clock_seconds(std::clamp(left, 0.0, context_.plan.timeout_sec));
  }

  void look() {
    if (finished_ || resolving_) return;
    const auto sight = watch_->settled();
    if (sight && (!broadcast_ || sight->own || watch_->own_is_silent() || over_)) resolve(*sight);
  }

  void give_up() {
    over_ = true;
    if (finished_ || resolving_) return;
    if (const auto sight = watch_->provisional()) return resolve(*sight);
    search_by_hash(conversation_, *place_.fleet, *record_.tx_hash, place_.own.value_or(place_.fleet->size()),
                   context_.plan.call_timeout, [this](const SearchResult& result) { hear_search(result); });
  }

  void hear_search(const SearchResult& result) {
    if (finished_ || resolving_) return;
    if (const auto sight = watch_->provisional()) return resolve(*sight);
    if (!result.tx_hash && result.denials == 0) {
      return leave({rpc::ErrorClass::timeout, "", "no provider answers whether it knows the transaction", {}});
    }
    if (!result.tx_hash && result.own_denies) release_nonce();
    record_.duration_sec = context_.plan.timeout_sec;
    record_.raw.reset();
    finish(TransactionState::timeout);
  }

  void release_nonce() const {
    if (!read_) return;
    auto lease = context_.book.try_lease(read_->transaction.chain_id, read_->account);
    if (lease) lease->erase(read_->transaction.nonce, *record_.tx_hash);
  }

  void resolve(const Sight& sight) {
    resolving_ = true;
    watch_->stop();
    fill_from_receipt(record_, sight.receipt);
    record_.raw.reset();
    time(sight);
    const std::string params = R"([")" + chain::quantity(sight.receipt.block_number) + R"(",false])";
    auto call = call_to(*place_.fleet, sight.seen_by, "eth_getBlockByNumber", params, context_.plan.call_timeout);
    conversation_.ask(std::move(call), [this](const rpc::Answer& answer) {
      record_.block_timestamp = block_timestamp_of(answer);
      finish(record_.state);
    });
  }

  /// Only this process's clock times a transaction, and only when it was looking while the block came.
  void time(const Sight& sight) {
    record_.duration_source = "block";
    if (!broadcast_) return;
    const auto last_unseen = std::max(broadcast_->started, sight.unseen.value_or(broadcast_->started));
    const double blur = seconds_between(last_unseen, sight.first);
    if (blur > sharp_beats * context_.plan.poll_ms / 1000 + sharp_slack_sec) return;
    record_.duration_source = "receipt";
    record_.duration_sec = std::max(0.0, seconds_between(broadcast_->started, sight.first));
    if (sight.own) record_.own_receipt_sec = std::max(0.0, seconds_between(broadcast_->started, *sight.own));
  }

  void leave(const rpc::Failure& failure) {
    record_.error_class = failure.error_class;
    record_.error = failure.message;
    finish(TransactionState::pending);
  }

  void finish(TransactionState state) {
    record_.state = state;
    finished_ = true;
    if (watch_) watch_->stop();
    conversation_.withdraw();
  }

  WaitContext context_;
  Fleets::Place place_;
  std::optional<ReadTransaction> read_;
  TransactionRecord record_;
  std::optional<Broadcast> broadcast_;
  Conversation conversation_;
  std::unique_ptr<Watch> watch_;
  bool resolving_ = false;
  bool over_ = false;
  bool finished_ = false;
};

}  // namespace

class TransactionWait::Impl {
 public:
  Impl(Transport& transport, const std::vector<TransactionReference>& transactions,
       const std::vector<rpc::Provider>& providers, TransactionFollowPlan plan, const std::string& region,
       rpc::Interrupt interrupt, NonceBook& book)
      : plan_(plan), interrupt_(std::move(interrupt)), exchange_(transport), fleets_(providers) {
    check(plan_);
    for (const TransactionReference& reference : transactions) {
      std::optional<ReadTransaction> read;
      if (!reference.raw.empty()) read = read_reference(reference);
      const auto chain_id = read ? std::optional(read->transaction.chain_id) : std::nullopt;
      const Fleets::Place place = fleets_.find(reference.provider_id, chain_id);
      TransactionRecord record = record_for(reference, read, place, region, exchange_.unix_now());
      jobs_.push_back(
          std::make_unique<WaitJob>(WaitContext{exchange_, book, plan_}, place, std::move(read), std::move(record)));
    }
  }

  std::optional<TransactionRecord> next() {
    if (!started_) {
      started_ = true;
      for (const auto& job : jobs_) job->start();
    }
    while (!jobs_.empty()) {
      const auto done = std::find_if(jobs_.begin(), jobs_.end(), [](const auto& job) { return job->finished(); });
      if (done != jobs_.end()) {
        TransactionRecord record = (*done)->record();
        jobs_.erase(done);
        return record;
      }
      exchange_.step(interrupt_);
    }
    return std::nullopt;
  }

 private:
  TransactionFollowPlan plan_;
  rpc::Interrupt interrupt_;
  Exchange exchange_;
  Fleets fleets_;
  bool started_ = false;
  std::vector<std::unique_ptr<WaitJob>> jobs_;
};

TransactionWait::TransactionWait(Transport& transport, std::vector<TransactionReference> transactions,
                                 std::vector<rpc::Provider> providers, TransactionFollowPlan plan, std::string region,
                                 rpc::Interrupt interrupt, NonceBook& book)
    : impl_(std::make_unique<Impl>(transport, transactions, providers, plan, region, std::move(interrupt), book)) {}

TransactionWait::~TransactionWait() = default;

std::optional<TransactionRecord> TransactionWait::next() {
  return impl_->next();
}

}  // namespace rpcroute::transaction

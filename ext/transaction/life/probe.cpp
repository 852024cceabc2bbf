#include "transaction/life/probe.hpp"

#include <algorithm>
#include <exception>

#include "chain/eip1559.hpp"
#include "chain/receipt.hpp"

namespace rpcroute::transaction {
namespace {

/// How long an unclear answer is looked into when nobody waits for the receipt.
constexpr double send_patience_sec = 20;

/// How long an account stays locked while it is unclear whether its transaction was taken.
constexpr double longest_lease_sec = 5;

}  // namespace

TransactionRecord record_for(const rpc::Provider& provider, const std::string& region, double timestamp) {
  TransactionRecord record;
  record.timestamp = timestamp;
  record.provider_id = provider.provider_id;
  record.chain = provider.chain;
  record.region = region;
  return record;
}

void fill_from_receipt(TransactionRecord& record, const chain::Receipt& receipt) {
  record.state = receipt.succeeded == false ? TransactionState::reverted : TransactionState::confirmed;
  if (receipt.succeeded) record.status = *receipt.succeeded ? 1 : 0;
  record.block_number = static_cast<std::int64_t>(receipt.block_number);
  if (receipt.gas_used) record.gas_used = static_cast<std::int64_t>(*receipt.gas_used);
  if (receipt.effective_gas_price) record.effective_gas_price = static_cast<std::int64_t>(*receipt.effective_gas_price);
  if (record.submit_head && *record.block_number >= *record.submit_head) {
    record.blocks_waited = *record.block_number - *record.submit_head;
  }
}

std::optional<std::int64_t> block_timestamp_of(const rpc::Answer& answer) {
  const auto block = block_of(answer);
  if (!block || !block->timestamp) return std::nullopt;
  return static_cast<std::int64_t>(*block->timestamp);
}

TransactionProbe::TransactionProbe(const ProbeContext& context, const chain::PrivateKey* key, std::size_t own,
                                   std::optional<double> propensity)
    : context_(context), key_(key), own_(own), conversation_(context.exchange) {
  record_ = record_for(context_.fleet[own_].provider, context_.region, conversation_.unix_now());
  record_.propensity = propensity;
}

TransactionProbe::~TransactionProbe() {
  if (finished_ || !delivery_ || delivery_->ended()) return;
  try {
    write_book(BookStage::sent);
  } catch (const std::exception&) {
    // What is in the book then is looked up by the next.
  }
}

void TransactionProbe::start() {
  if (key_ == nullptr) return ask_account();
  ask_nonce(chain::to_hex(key_->address()));
}

void TransactionProbe::refuse(rpc::Failure failure) {
  fail(failure.error_class, failure.message);
}

void TransactionProbe::ask_account() {
  auto call = call_to(context_.fleet, own_, "eth_accounts", "[]", context_.plan.call_timeout);
  conversation_.ask(std::move(call), [this](const rpc::Answer& answer) {
    if (answer.failure) return fail(answer.failure->error_class, answer.failure->message);
    try {
      const auto account = chain::read_first_account(answer.result);
      if (!account) return fail(rpc::ErrorClass::rpc, "the node holds no account to send from; set RPCROUTE_KEY");
      ask_nonce(*account);
    } catch (const chain::Misread& misread) {
      fail(rpc::ErrorClass::malformed, misread.message);
    }
  });
}

void TransactionProbe::ask_nonce(const std::string& account) {
  account_ = account;
  NonceWish wish{account, own_, context_.plan.send, clock_seconds(context_.plan.timeout_sec),
                 context_.plan.call_timeout};
  nonce_request_ =
      std::make_unique<NonceRequest>(context_.exchange, context_.fleet, context_.book, std::move(wish),
                                     [this](std::optional<Numbering> numbering, std::optional<rpc::Failure> failure) {
                                       if (!numbering) return fail(failure->error_class, failure->message);
                                       number(std::move(*numbering));
                                     });
  nonce_request_->start();
}

void TransactionProbe::number(Numbering numbering) {
  numbering_ = std::move(numbering);
  if (numbering_.balance && *numbering_.balance < chain::worst_case_cost(context_.fees)) {
    numbering_.lease.reset();
    return fail(rpc::ErrorClass::funds, "the account " + account_ + " cannot pay for the transaction at worst case");
  }
  record_.nonce = numbering_.nonce;
  record_.overlap = numbering_.overlap;
  if (const auto head = numbering_.head_of_others) record_.submit_head = static_cast<std::int64_t>(*head);
  key_ == nullptr ? send_by_node() : sign_and_send();
}

void TransactionProbe::sign_and_send() {
  chain::Eip1559Transaction transaction;
  transaction.chain_id = *context_.fleet.chain_id();
  transaction.nonce = numbering_.nonce;
  transaction.max_fee_per_gas = context_.fees.max_fee;
  transaction.max_priority_fee_per_gas = context_.fees.priority_fee;
  transaction.gas_limit = chain::transfer_gas;
  transaction.to = key_->address();
  const chain::SignedTransaction sent = chain::sign_probe_transfer(transaction, *key_);
  record_.tx_hash = chain::to_hex(sent.hash);
  record_.raw = chain::to_hex(sent.raw);
  write_book(BookStage::prepared);
  if (!context_.plan.send) {
    numbering_.lease.reset();
    record_.timestamp = conversation_.unix_now();
    record_.submit_head.reset();
    return finish(TransactionState::prepared);
  }
  deliver(call_to_send(context_.fleet, own_, "eth_sendRawTransaction", json_strings({*record_.raw})), {});
}

void TransactionProbe::send_by_node() {
  write_book(BookStage::prepared);
  const std::string params = R"([{"from":")" + account_ + R"(","to":")" + account_ + R"(","value":"0x0","gas":")" +
                             chain::quantity(chain::transfer_gas) + R"(","maxFeePerGas":")" +
                             chain::quantity(context_.fees.max_fee) + R"(","maxPriorityFeePerGas":")" +
                             chain::quantity(context_.fees.priority_fee) + R"(","nonce":")" +
                             chain::quantity(numbering_.nonce) + R"("}])";
  deliver(call_to_send(context_.fleet, own_, "eth_sendTransaction", params),
          NodeTransaction{account_, numbering_.nonce});
}

void TransactionProbe::deliver(rpc::Call call, std::optional<NodeTransaction> node_transaction) {
  const auto beat = clock_seconds(context_.plan.poll_ms / 1000);
  delivery_ = std::make_unique<Delivery>(context_.exchange, context_.fleet, own_, record_.tx_hash.value_or(""),
                                         std::move(node_transaction), beat, context_.plan.call_timeout,
                                         [this](const DeliveryOutcome& outcome) { hear_delivery(outcome); });
  delivery_->start(std::move(call));
  broadcast_head_.emplace(conversation_, context_.fleet, own_, context_.plan.call_timeout);
  const bool may_stay_unclear = !context_.plan.wait && record_.tx_hash;
  const double patience = may_stay_unclear ? send_patience_sec : context_.plan.timeout_sec;
  conversation_.at(conversation_.now() + clock_seconds(patience), [this] { give_up(); });
  conversation_.at(conversation_.now() + clock_seconds(longest_lease_sec), [this] {
    if (numbering_.lease) write_book(BookStage::sent);
    numbering_.lease.reset();
  });
  // The block does not wait for the acknowledgement.
  if (record_.tx_hash && context_.plan.wait) watch();
}

void TransactionProbe::hear_delivery(const DeliveryOutcome& outcome) {
  record_.timestamp = delivery_->timestamp();
  switch (outcome.end) {
    case DeliveryEnd::accepted:
      return accept(outcome);
    case DeliveryEnd::lost:
      record_.error_class = outcome.verdict.error_class;
      record_.error = outcome.verdict.message;
      return;  // give_up() goes on
    case DeliveryEnd::refused:
    case DeliveryEnd::unsent:
      release_nonce();
      return fail(outcome.verdict.error_class, outcome.verdict.message);
  }
}

void TransactionProbe::accept(const DeliveryOutcome& outcome) {
  record_.tx_hash = outcome.tx_hash;
  record_.submit_ms = outcome.submit_ms;
  record_.submit_head = broadcast_head_->of_others(record_.submit_head);
  write_book(BookStage::sent);
  numbering_.lease.reset();
  context_.book.remember(outcome.tx_hash, {delivery_->started(), record_.timestamp, record_.submit_ms,
                                           record_.submit_head, record_.propensity, record_.overlap});
  if (!context_.plan.wait) return finish(TransactionState::pending);
  watch_ ? look() : watch();
}

/// Without the lease nothing is written: what another process finds then is an entry of an earlier stage, which it
/// looks up.
void TransactionProbe::write_book(BookStage stage) {
  BookEntry entry{numbering_.nonce,
                  stage,
                  record_.tx_hash.value_or(""),
                  record_.provider_id,
                  context_.fleet.genesis(),
                  numbering_.head.value_or(0),
                  conversation_.unix_now(),
                  this_process(),
                  this_process_started()};
  if (numbering_.lease) return numbering_.lease->put(std::move(entry));
  auto lease = context_.book.try_lease(*context_.fleet.chain_id(), account_);
  if (lease) lease->put(std::move(entry));
}

void TransactionProbe::release_nonce() {
  const std::string tx_hash = record_.tx_hash.value_or("");
  if (numbering_.lease) return numbering_.lease->erase(numbering_.nonce, tx_hash);
  auto lease = context_.book.try_lease(*context_.fleet.chain_id(), account_);
  if (lease) lease->erase(numbering_.nonce, tx_hash);
}

void TransactionProbe::watch() {
  watch_ = std::make_unique<Watch>(context_.exchange, context_.fleet, *record_.tx_hash, own_,
                                   clock_seconds(context_.plan.poll_ms / 1000), context_.plan.call_timeout,
                                   [this] { look(); });
  watch_->start();
}

void TransactionProbe::look() {
  if (finished_ || resolving_) return;
  if (watch_->provisional()) delivery_->confirm();
  if (finished_ || !delivery_->ended()) return;
  const auto sight = watch_->settled();
  if (sight && (sight->own || watch_->own_is_silent() || over_)) resolve(*sight);
}

void TransactionProbe::give_up() {
  over_ = true;
  if (finished_ || resolving_) return;
  const auto sight = watch_ ? watch_->provisional() : std::nullopt;
  if (sight) delivery_->confirm();
  if (sight && delivery_->ended()) return resolve(*sight);
  delivery_->give_up();
  if (finished_) return;
  if (!context_.plan.wait && record_.tx_hash) {
    // It may have landed, and tx_wait will tell.
    write_book(BookStage::sent);
    return finish(TransactionState::pending);
  }
  if (!record_.tx_hash) return time_out();
  // The last word before it is given up, and before its number is given to another.
  search_by_hash(conversation_, context_.fleet, *record_.tx_hash, own_, context_.plan.call_timeout,
                 [this](const SearchResult& result) {
                   if (finished_ || resolving_) return;
                   if (const auto late = watch_ ? watch_->provisional() : std::nullopt) return resolve(*late);
                   if (!result.tx_hash && result.own_denies) release_nonce();
                   time_out();
                 });
}

void TransactionProbe::time_out() {
  record_.duration_sec = context_.plan.timeout_sec;
  finish(TransactionState::timeout);
}

void TransactionProbe::resolve(const Sight& sight) {
  resolving_ = true;
  watch_->stop();
  record_.submit_head = broadcast_head_->of_others(record_.submit_head);
  fill_from_receipt(record_, sight.receipt);
  time(sight);
  record_.error_class.reset();
  record_.error.clear();
  write_book(BookStage::mined);
  const std::string params = R"([")" + chain::quantity(sight.receipt.block_number) + R"(",false])";
  auto call = call_to(context_.fleet, sight.seen_by, "eth_getBlockByNumber", params, context_.plan.call_timeout);
  conversation_.ask(std::move(call), [this](const rpc::Answer& answer) {
    record_.block_timestamp = block_timestamp_of(answer);
    finish(record_.state);
  });
}

/// A receipt that waited for us while whoever reads the rows paused tells no moment.
void TransactionProbe::time(const Sight& sight) {
  const auto beat = clock_seconds(context_.plan.poll_ms / 1000);
  const auto last_unseen = std::max(delivery_->started(), sight.unseen.value_or(delivery_->started()));
  record_.duration_source = "block";
  if (conversation_.absent_between(last_unseen, sight.first) > beat) return;
  record_.duration_source = "receipt";
  record_.duration_sec = since_start(sight.first);
  const bool own_is_sharp = sight.own && conversation_.absent_between(sight.first, *sight.own) <= beat;
  if (own_is_sharp) record_.own_receipt_sec = since_start(*sight.own);
}

void TransactionProbe::finish(TransactionState state) {
  record_.state = state;
  const bool unresolved = state == TransactionState::prepared || state == TransactionState::pending;
  if (!unresolved) record_.raw.reset();
  finished_ = true;
  numbering_.lease.reset();
  if (watch_) watch_->stop();
  conversation_.withdraw();
}

/// A transaction that nobody took is none: the next one of the account has its number, and may have its very bytes.
void TransactionProbe::fail(rpc::ErrorClass error_class, const std::string& message) {
  record_.tx_hash.reset();
  record_.nonce.reset();
  record_.error_class = error_class;
  record_.error = message;
  finish(TransactionState::rejected);
}

double TransactionProbe::since_start(rpc::Clock::time_point moment) const {
  return std::max(0.0, seconds_between(delivery_->started(), moment));
}

}  // namespace rpcroute::transaction

#include "transaction/life/life.hpp"

#include <algorithm>

#include "chain/eip1559.hpp"
#include "chain/fees.hpp"

namespace rpcroute::transaction {
namespace {

/// How long an account stays locked while it is unclear whether its transaction was taken.
constexpr rpc::Milliseconds longest_lease{5000};

/// How many of the last words must agree. One alone may be a backend's that lags or lies, while others are silent.
constexpr int last_words_that_count = 2;

BlockId most_shown(const std::vector<BlockId>& blocks) {
  return *std::max_element(blocks.begin(), blocks.end(), [&](const BlockId& a, const BlockId& b) {
    return std::count(blocks.begin(), blocks.end(), a) < std::count(blocks.begin(), blocks.end(), b);
  });
}

}  // namespace

Life::Life(const Surroundings& surroundings, Fleet* fleet, std::optional<std::size_t> own, Record record)
    : surroundings_(surroundings),
      fleet_(fleet),
      own_(own),
      record_(std::move(record)),
      conversation_(surroundings.exchange) {}

Claim claim_of(const NonceBook& book, const ReadTransaction& read, const Record& record, const Fleet* fleet) {
  BookEntry entry;
  entry.nonce = read.transaction.nonce;
  entry.tx_hash = record.tx_hash.value_or("");
  entry.provider = record.provider_id;
  if (fleet != nullptr) entry.genesis = fleet->genesis();
  return {book, read.transaction.chain_id, read.account, std::move(entry), std::nullopt};
}

void Life::deliver(rpc::Call call, std::optional<NodeTransaction> node_transaction, rpc::Clock::duration patience) {
  const FollowPlan& plan = surroundings_.plan;
  delivery_ = std::make_unique<Delivery>(surroundings_.exchange, *fleet_, *own_, record_.tx_hash.value_or(""),
                                         std::move(node_transaction), plan.beat(), plan.call_timeout,
                                         [this](const DeliveryOutcome& outcome) {
                                           record_.timestamp = delivery_->timestamp();
                                           broadcast_ = delivery_->started();
                                           if (outcome.end == DeliveryEnd::lost && outcome.complained)
                                             complaint_ = outcome;
                                           delivered(outcome);
                                         });
  delivery_->start(std::move(call));
  record_.timestamp = delivery_->timestamp();
  broadcast_ = delivery_->started();
  if (record_.tx_hash) remember_broadcast();
  broadcast_head_.emplace(conversation_, *fleet_, *own_, plan.call_timeout);
  conversation_.after(patience, [this] { delivery_->give_up(); });
  conversation_.after(longest_lease, [this] { claim_->let_go(); });
}

void Life::watch(rpc::Clock::time_point deadline) {
  const FollowPlan& plan = surroundings_.plan;
  watch_ = std::make_unique<Watch>(surroundings_.exchange, *fleet_, *record_.tx_hash, own_, plan.beat(),
                                   plan.call_timeout, [this] { look(); });
  watch_->start();
  conversation_.at(deadline, [this] { give_up(); });
}

void Life::look() {
  if (finished_) return;
  if (delivery_ && watch_->settled()) delivery_->confirm();
  if (finished_ || (delivery_ && !delivery_->ended())) return;
  const auto sight = watch_->settled();
  if (sight && (!broadcast_ || sight->own || watch_->own_is_silent() || over_)) settle(*sight);
}

void Life::give_up() {
  over_ = true;
  over_since_ = conversation_.now();
  look();
  if (finished_) return;
  if (delivery_) delivery_->give_up();
  ask_last_word();
}

/// The last word before it is given up, and before its number is given to another.
void Life::ask_last_word() {
  search_by_hash(conversation_, *fleet_, *record_.tx_hash, own_, surroundings_.plan.call_timeout, Urgency::last_word,
                 [this](const SearchResult& result) { hear_last_word(result); });
}

void Life::hear_last_word(const SearchResult& result) {
  look();
  if (finished_) return;
  if (result.blocks.empty()) return weigh_last_word(result);
  // Nodes have shown the block of a transaction and never its receipt.
  const BlockId block = most_shown(result.blocks);
  search_block(conversation_, *fleet_, block, surroundings_.plan.call_timeout, Urgency::last_word,
               [this, result, block](const BlockResult& found) {
                 look();
                 if (finished_) return;
                 if (!found.stands()) return weigh_last_word(result);
                 fill_block(record_, block.number, found.timestamp);
                 record_.duration_source = "block";
                 record_.error_class.reset();
                 record_.error.clear();
                 note_mined(block);
                 finish(State::confirmed);
               });
}

/// Denied or waiting in two rounds, it is given up; until then it is asked for again, as long as two requests may take.
void Life::weigh_last_word(const SearchResult& result) {
  const FollowPlan& plan = surroundings_.plan;
  if (result.denied()) ++denials_;
  if (result.tx_hash && result.blocks.empty()) ++sightings_;
  const bool late = conversation_.now() + plan.beat() - over_since_ >= 2 * plan.call_timeout;
  if (denials_ + sightings_ >= last_words_that_count || late) return conclude(result);
  conversation_.after(plan.beat(), [this] { ask_last_word(); });
}

/// A transaction is lost, and charged to its provider, when somebody could be asked for it after its time was over. One
/// that its provider had refused, and that is denied now, is refused: there was no time to be sure before.
void Life::conclude(const SearchResult& result) {
  const bool heard = result.tx_hash || result.heard.denials > 0;
  const auto answered = watch_->answered();
  if (!heard && (!answered || *answered < over_since_)) return unheard();
  if (denials_ >= last_words_that_count) {
    if (complaint_) {
      complaint_->end = DeliveryEnd::refused;
      return delivered(*complaint_);
    }
    note(BookStage::free);
  }
  if (!answered) return leave_unobserved("no provider answered the question for its receipt: " + watch_->complaint());
  if (record_.error.empty() && !watch_->complaint().empty() && !result.tx_hash) record_.error = watch_->complaint();
  charge();
}

void Life::charge() {
  record_.duration_sec = surroundings_.plan.timeout_sec;
  finish(State::timeout);
}

void Life::leave_unobserved(const std::string& why) {
  record_.error_class = rpc::ErrorClass::unobserved;
  record_.error = why;
  finish(State::timeout);
}

void Life::unheard() {
  leave_unobserved("no provider answered what became of it: " + watch_->complaint());
}

rpc::Clock::duration Life::brief_patience() const {
  return std::min(surroundings_.plan.timeout(), longest_doubt(*fleet_, surroundings_.plan.call_timeout));
}

void Life::settle(const Sight& sight) {
  if (broadcast_head_) record_.submit_head = broadcast_head_->of_others(record_.submit_head);
  std::vector<chain::Receipt> receipts = sight.receipts;
  for (chain::Receipt& receipt : receipts) {
    if (max_fee_) chain::drop_impossible(receipt, *max_fee_, sight.base_fee);
  }
  fill(record_, chain::agreed(receipts));
  fill_block(record_, sight.block.number, sight.block_timestamp);
  time(sight);
  record_.error_class.reset();
  record_.error.clear();
  note_mined(sight.block);
  finish(record_.state);
}

/// Only this process's clock times a transaction, and only where somebody was looking while the block came, and we were
/// there to hear it: a receipt that waited for us while whoever reads the rows paused tells no moment.
void Life::time(const Sight& sight) {
  const FollowPlan& plan = surroundings_.plan;
  record_.duration_source = "block";
  if (!broadcast_) return;
  const auto sharp = sharp_gap(plan.beat());
  if (sight.looked - *broadcast_ > sharp && !came_while_looking(sight)) return;
  const auto unseen = std::max(*broadcast_, sight.unseen.value_or(*broadcast_));
  const bool was_looking = sight.looked - unseen <= sharp;
  if (!was_looking || conversation_.absent_between(unseen, sight.first) > plan.beat()) return;
  const auto since = [&](rpc::Clock::time_point moment) { return std::max(0.0, seconds_between(*broadcast_, moment)); };
  record_.duration_source = "receipt";
  record_.duration_sec = since(sight.first);
  const bool own_is_sharp = sight.own && conversation_.absent_between(sight.first, *sight.own) <= plan.beat();
  if (own_is_sharp) record_.own_receipt_sec = since(*sight.own);
}

/// A block that was there before anybody looked was not seen to come, though a backend that lags missed it first.
bool Life::came_while_looking(const Sight& sight) const {
  if (!looking_head_) return true;
  const auto head = looking_head_->of_all();
  return head && sight.block.number > *head;
}

void Life::remember_broadcast() {
  surroundings_.broadcasts.remember(*record_.tx_hash,
                                    {*broadcast_, record_.timestamp, record_.provider_id, prepared_, record_.submit_ms,
                                     record_.submit_head, record_.propensity, record_.overlap});
}

void Life::note(BookStage stage) {
  if (claim_) claim_->note(stage, record_.tx_hash.value_or(""), monotonic_seconds(conversation_.now()));
}

void Life::note_mined(const BlockId& block) {
  if (claim_) claim_->note_mined(block, *record_.tx_hash, monotonic_seconds(conversation_.now()));
}

void Life::set_max_fee(std::uint64_t max_fee) {
  max_fee_ = max_fee;
  record_.max_cost_gwei = chain::cost_in_gwei(chain::transfer_gas, max_fee);
}

void Life::finish(State state) {
  record_.state = state;
  const bool unresolved = state == State::prepared || state == State::pending;
  if (!unresolved) record_.raw.reset();
  if (broadcast_ && watch_ && watch_->preconfirmed()) {
    record_.preconfirmed_sec = std::max(0.0, seconds_between(*broadcast_, *watch_->preconfirmed()));
  }
  finished_ = true;
  if (claim_) claim_->let_go();
  if (watch_) watch_->stop();
  conversation_.withdraw();
}

}  // namespace rpcroute::transaction

#include "transaction/life/send.hpp"

#include <algorithm>

#include "transaction/nonce/request.hpp"

namespace rpcroute::transaction {
namespace {

/// How often earlier numbers are looked for, a beat apart, before they are called missing: providers may lag.
constexpr int looks_for_earlier = 3;

bool has_left(const std::optional<BookEntry>& entry, const std::string& tx_hash) {
  return entry && entry->tx_hash == tx_hash &&
         (entry->stage == BookStage::sent || entry->stage == BookStage::taken || entry->stage == BookStage::mined);
}

}  // namespace

SendLife::SendLife(const Surroundings& surroundings, const Fleets::Place& place, ReadTransaction read, Record record,
                   bool timestamp_known)
    : Life(surroundings, place.fleet, place.own, std::move(record)),
      read_(std::move(read)),
      expires_(timestamp_known ? record_.timestamp + surroundings.plan.timeout_sec : 0) {
  if (timestamp_known) prepared_ = record_.timestamp;
  set_max_fee(read_.transaction.max_fee_per_gas.saturated());
  claim_ = claim_of(surroundings_.book, read_, record_, fleet_);
}

void SendLife::start() {
  started_ = conversation_.now();
  if (fleet_ == nullptr) return postpone(no_provider());
  search_by_hash(conversation_, *fleet_, *record_.tx_hash, own_, surroundings_.plan.call_timeout, Urgency::usual,
                 [this](const SearchResult& result) { hear_search(result); });
}

void SendLife::hear_search(const SearchResult& result) {
  const auto sent = surroundings_.broadcasts.find(*record_.tx_hash);
  if (sent && !sent->is_of(record_.provider_id, prepared_)) {
    record_.fail(
        {rpc::ErrorClass::nonce, "", "these very bytes were sent for another row, through " + sent->provider_id, {}});
    return finish(State::rejected);  // and their number is that row's
  }
  if (result.tx_hash) return finish(State::pending);  // a process that was killed has sent it
  is_denied_ = result.heard.denials > 0;
  if (!own_) return postpone(no_provider());
  head_ = result.head;
  if (result.head) record_.submit_head = static_cast<std::int64_t>(*result.head);
  const Member& own = (*fleet_)[*own_];
  if (own.excluded) {
    return own.excluded->error_class == rpc::ErrorClass::config ? postpone(*own.excluded) : fail(*own.excluded);
  }
  if (!own.verified) return postpone(*own.silence);
  if (read_.transaction.chain_id != fleet_->chain_id()) {
    return fail({rpc::ErrorClass::wrong_chain, "", "it was signed for another chain", {}});
  }
  count_earlier();
}

void SendLife::count_earlier() {
  std::vector<rpc::Call> calls;
  for (const std::size_t i : fleet_->verified()) {
    append(calls, count_calls(*fleet_, i, read_.account, surroundings_.plan.call_timeout));
  }
  conversation_.ask_all(std::move(calls), [this](const std::vector<rpc::Answer>& answers) { hear_counts(answers); });
}

void SendLife::hear_counts(const std::vector<rpc::Answer>& answers) {
  std::vector<AccountCount> counts;
  for (std::size_t k = 0; k < answers.size(); k += 2) {
    if (const auto count = count_of(&answers[k])) counts.push_back(*count);
  }
  if (counts.empty()) {
    return postpone({rpc::ErrorClass::malformed, "", "no provider tells the account's transaction count", {}});
  }
  claim(counts);
}

/// Its number is its own unless the book has given it to other bytes meanwhile.
void SendLife::claim(const std::vector<AccountCount>& counts) try {
  auto lease = surroundings_.book.try_lease(read_.transaction.chain_id, read_.account);
  if (!lease) {
    if (is_late()) return postpone({rpc::ErrorClass::nonce, "", "another is using the numbers of the account", {}});
    return conversation_.after(lease_beat, [this, counts] { claim(counts); });
  }
  const std::uint64_t left = taken_up_to(lease->from(fleet_->genesis(), 0));
  const auto agreed = count_.hear(agree(counts, left, fleet_->all_asked().size() > 1));
  if (!agreed) return conversation_.after(surroundings_.plan.beat(), [this] { count_earlier(); });
  record_.overlap = static_cast<std::int64_t>(nonce() - std::min(nonce(), agreed->latest));
  const auto given = lease->find(fleet_->genesis(), nonce());
  const bool is_another = given && given->tx_hash != *record_.tx_hash && given->stage != BookStage::free;
  const auto gap = first_gap(*lease, agreed->pending);
  if (!is_another && !gap) return send(std::move(lease));
  lease.reset();
  if (!is_another) return gap->sent ? look_up(*gap->sent) : wait_for(*gap);
  fail({rpc::ErrorClass::nonce,
        "",
        "number " + std::to_string(nonce()) + " of the account was given to another transaction meanwhile",
        {}});
} catch (const BookError& error) {
  postpone({rpc::ErrorClass::nonce, "book", error.what(), {}});
}

/// The first number before this one that neither the providers (they count up to `pending`) nor the book know to be
/// used. Behind it a transaction would wait for ever, at the expense of its provider's record.
std::optional<SendLife::Gap> SendLife::first_gap(const NonceLease& lease, std::uint64_t pending) const {
  for (std::uint64_t number = pending; number < nonce(); ++number) {
    const auto entry = lease.find(fleet_->genesis(), number);
    if (!entry || entry->stage == BookStage::free) return Gap{number, false, {}};
    // Without the first block of a chain the book cannot tell it from another of its id: what it says is looked up.
    const bool may_be_anothers = entry->genesis.empty() || fleet_->genesis().empty();
    const bool is_doubtful = entry->stage == BookStage::sent || may_be_anothers;
    if (entry->stage != BookStage::prepared) {
      if (!is_doubtful || shown_.contains(number)) continue;
      return Gap{number, true, entry};
    }
    const double now = monotonic_seconds(conversation_.now());
    return Gap{number, may_yet_leave(*entry, lease, surroundings_.book.writer(), now), {}};
  }
  return std::nullopt;
}

/// What an interrupted run sent may have been lost with its answer: then this one would wait behind it for ever.
void SendLife::look_up(const BookEntry& sent) {
  search_by_hash(conversation_, *fleet_, sent.tx_hash, fleet_->find(sent.provider), surroundings_.plan.call_timeout,
                 Urgency::usual, [this, number = sent.nonce](const SearchResult& result) {
                   if (result.tx_hash) {
                     shown_.insert(number);
                     return count_earlier();
                   }
                   if (result.denied()) ++denials_[number];
                   const bool is_old = conversation_.now() - started_ >= blocks_that_count * fleet_->block_time();
                   wait_for({number, denials_[number] < denials_that_count || !is_old, {}});
                 });
}

void SendLife::wait_for(const Gap& gap) {
  if (!gap.may_yet_be_filled) ++looks_;
  if (looks_ >= looks_for_earlier || is_late()) {
    return fail({rpc::ErrorClass::nonce,
                 "",
                 "transaction " + std::to_string(gap.number) +
                     " of the account, which must come before it, was not sent; so this one was not either",
                 {}});
  }
  conversation_.after(surroundings_.plan.beat(), [this] { count_earlier(); });
}

void SendLife::send(std::optional<NonceLease> lease) {
  BookEntry entry = lease->find(fleet_->genesis(), nonce()).value_or(BookEntry{});
  left_before_ = has_left(entry, *record_.tx_hash);
  entry.nonce = nonce();
  entry.provider = record_.provider_id;
  entry.genesis = fleet_->genesis();
  entry.head = head_.value_or(entry.head);
  claim_.emplace(surroundings_.book, read_.transaction.chain_id, read_.account, std::move(entry), std::move(lease));
  claim_->write(BookStage::sent, *record_.tx_hash, monotonic_seconds(conversation_.now()));
  deliver(call_to_send(*fleet_, *own_, "eth_sendRawTransaction", json_strings({*record_.raw})), {}, brief_patience());
}

void SendLife::delivered(const DeliveryOutcome& outcome) {
  switch (outcome.end) {
    case DeliveryEnd::unsent:
      return postpone(*outcome.failure);
    case DeliveryEnd::refused:
      return fail(*outcome.failure);
    case DeliveryEnd::vanished:
      note(BookStage::free);
      record_.fail(*outcome.failure);
      return charge();
    case DeliveryEnd::lost:
      if (outcome.complained && outcome.denied) return fail(*outcome.failure);
      record_.fail(*outcome.failure);
      break;
    case DeliveryEnd::accepted:
      note(BookStage::taken);
      break;
  }
  if (outcome.was_known) {
    // An earlier run may have sent it, whatever the search saw: then nobody knows any more when it left, and to time it
    // from now would flatter its provider.
    surroundings_.broadcasts.forget(*record_.tx_hash);
    return stay(State::pending);
  }
  record_.submit_ms = outcome.submit_ms;
  record_.submit_head = broadcast_head_->of_others(record_.submit_head);
  remember_broadcast();
  finish(State::pending);
}

/// It has not left and may be sent again, unless its time is over. It keeps nobody waiting: whoever needs its number
/// may have it, and then it is not sent any more.
void SendLife::postpone(const rpc::Failure& failure) {
  const bool is_over = expires_ != 0 && conversation_.unix_now() >= expires_;
  if (is_over && is_denied_) return fail(failure);  // while nobody answers, it may have been sent by somebody unknown
  record_.fail(failure);
  if (has_left_before()) return stay(State::pending);
  note(BookStage::free);
  stay(State::prepared);
}

void SendLife::fail(const rpc::Failure& failure) {
  record_.fail(failure);
  if (has_left_before()) return stay(State::pending);
  note(BookStage::free);
  finish(State::rejected);
}

/// What an earlier run has sent may be anywhere, whatever hinders this one: it keeps its number, and tx_wait will tell.
bool SendLife::has_left_before() const try {
  if (delivery_) return left_before_;
  const auto lease = surroundings_.book.try_lease(read_.transaction.chain_id, read_.account);
  return lease && has_left(lease->find(claim_->entry().genesis, nonce()), *record_.tx_hash);
} catch (const BookError&) {
  return false;
}

/// It did not leave now, as far as anybody knows: its row says what it said.
void SendLife::stay(State state) {
  record_.timestamp = prepared_.value_or(record_.timestamp);
  record_.submit_head.reset();
  finish(state);
}

rpc::Failure SendLife::no_provider() const {
  return {rpc::ErrorClass::config, "", "there is no provider " + record_.provider_id, {}};
}

bool SendLife::is_late() const {
  return conversation_.now() - started_ >= surroundings_.plan.timeout();
}

}  // namespace rpcroute::transaction

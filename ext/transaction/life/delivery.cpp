#include "transaction/life/delivery.hpp"

#include <algorithm>

#include "chain/receipt.hpp"

namespace rpcroute::transaction {
namespace {

/// An acknowledgement may take longer than a read: a provider that lags passes the transaction on first.
constexpr rpc::Milliseconds send_timeout{10'000};

constexpr int blocks_of_vanished = 5;
constexpr int quick_rounds = 4;

}  // namespace

rpc::Call call_to_send(const Fleet& fleet, std::size_t i, std::string method, std::string params) {
  rpc::Call call = call_to(fleet, i, std::move(method), std::move(params), send_timeout);
  call.never_resend = true;
  return call;
}

rpc::Clock::duration longest_doubt(const Fleet& fleet, rpc::Milliseconds call_timeout) {
  return send_timeout + (blocks_of_vanished + 1) * fleet.block_time() + quick_rounds * call_timeout;
}

Delivery::Delivery(Exchange& exchange, const Fleet& fleet, std::size_t own, std::string tx_hash,
                   std::optional<NodeTransaction> node_transaction, rpc::Clock::duration beat,
                   rpc::Milliseconds call_timeout, Then then)
    : conversation_(exchange),
      fleet_(fleet),
      own_(own),
      node_transaction_(std::move(node_transaction)),
      beat_(beat),
      call_timeout_(call_timeout),
      then_(std::move(then)) {
  outcome_.tx_hash = std::move(tx_hash);
}

void Delivery::start(rpc::Call call) {
  started_ = conversation_.now();
  timestamp_ = conversation_.unix_now();
  conversation_.ask(std::move(call), [this](const rpc::Answer& answer) { hear(answer); });
}

void Delivery::hear(const rpc::Answer& answer) {
  has_answer_ = true;
  answered_ = answer.finished;
  started_ = answer.started;
  timestamp_ = answer.timestamp - seconds_between(answer.started, answer.finished);
  acceptance_ = judge_send(answer);
  outcome_.complained = acceptance_ == Acceptance::refused || acceptance_ == Acceptance::doubted;
  outcome_.failure = answer.failure;
  if (!answer.failure) check_hash(answer);
  const bool accepted = acceptance_ == Acceptance::accepted;
  outcome_.was_known = was_known(answer);
  const bool is_sharp = conversation_.absent_between(answer.started, answer.finished) <= beat_;
  if (accepted && is_sharp) outcome_.submit_ms = 1000 * seconds_between(answer.started, answer.finished);
  if (accepted || confirmed_) return end(DeliveryEnd::accepted);
  search();
}

/// The hash that an acknowledgement names must be the one that was computed.
void Delivery::check_hash(const rpc::Answer& answer) {
  try {
    std::string acknowledged = chain::read_hash_result(answer.result);
    if (!outcome_.tx_hash.empty() && acknowledged != outcome_.tx_hash) {
      throw chain::Misread{"another transaction's hash was answered"};
    }
    outcome_.tx_hash = std::move(acknowledged);
  } catch (const chain::Misread& misread) {
    acceptance_ = Acceptance::unclear;
    outcome_.failure = rpc::Failure{rpc::ErrorClass::malformed, "", misread.message, {}};
  }
}

void Delivery::search() {
  auto then = [this](const SearchResult& result) { weigh(result); };
  if (outcome_.tx_hash.empty()) {
    search_by_nonce(conversation_, fleet_, *node_transaction_, own_, call_timeout_, then);
  } else {
    search_by_hash(conversation_, fleet_, outcome_.tx_hash, own_, call_timeout_, Urgency::usual, then);
  }
}

void Delivery::weigh(const SearchResult& result) {
  // What a node's own account sent under a number it calls used is another transaction: it is not ours by its number.
  const bool ours = !outcome_.tx_hash.empty() || acceptance_ == Acceptance::unclear;
  if (result.tx_hash && ours) {
    outcome_.tx_hash = *result.tx_hash;
    return end(DeliveryEnd::accepted);
  }
  ++rounds_;
  outcome_.denied = result.denied();
  if (outcome_.denied) ++denials_;
  if (result.number_is_used) ++uses_;
  const bool is_alone = fleet_.all_asked().size() == 1;
  if (result.own_is_silent && (is_alone || result.heard.denials > 0)) ++silences_;
  if (!first_head_) first_head_ = result.head;
  if (result.head) last_head_ = std::max(last_head_.value_or(0), *result.head);
  if (const auto refutation = refuted()) return end(*refutation);
  const auto pause = rounds_ < quick_rounds ? beat_ : std::max(beat_, fleet_.block_time() / 4);
  conversation_.after(pause, [this] { search(); });
}

std::optional<DeliveryEnd> Delivery::refuted() const {
  const bool is_silent = silences_ >= denials_that_count && has_lasted(blocks_that_count);
  bool is_over = false;
  switch (acceptance_) {
    case Acceptance::accepted:
      return std::nullopt;
    case Acceptance::unsent:
      return DeliveryEnd::unsent;
    case Acceptance::refused:
      is_over = denials_ >= denials_that_count || is_silent;
      break;
    case Acceptance::doubted:
      is_over = denials_ >= denials_that_count && has_lasted(blocks_that_count);
      break;
    case Acceptance::unclear:
      if (denials_ >= denials_that_count && has_lasted(blocks_of_vanished)) return DeliveryEnd::vanished;
      if (uses_ >= denials_that_count) return DeliveryEnd::lost;
      break;
  }
  return is_over ? std::optional(DeliveryEnd::refused) : std::nullopt;
}

bool Delivery::has_lasted(int blocks) const {
  const bool grown = first_head_ && last_head_ && *last_head_ >= *first_head_ + static_cast<std::uint64_t>(blocks);
  return grown || conversation_.now() - answered_ >= blocks * fleet_.block_time();
}

void Delivery::confirm() {
  confirmed_ = true;
  if (has_answer_ && !ended_) end(DeliveryEnd::accepted);
}

void Delivery::give_up() {
  if (!ended_) end(DeliveryEnd::lost);
}

void Delivery::end(DeliveryEnd how) {
  ended_ = true;
  if (!has_answer_) outcome_.failure = rpc::Failure{rpc::ErrorClass::timeout, "", "no whole answer in time", {}};
  conversation_.withdraw();
  outcome_.end = how;
  then_(outcome_);
}

}  // namespace rpcroute::transaction

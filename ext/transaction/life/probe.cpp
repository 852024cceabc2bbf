#include "transaction/life/probe.hpp"

#include <algorithm>

#include "chain/eip1559.hpp"
#include "chain/receipt.hpp"
#include "text/hex.hpp"

namespace rpcroute::transaction {
namespace {

/// Bytes of another number's edition: two rows must never be one transaction. A cap some wei lower changes nothing
/// else.
chain::Fees fees_of_edition(chain::Fees fees, std::uint32_t edition) {
  fees.max_fee -= std::min<std::uint64_t>(edition, fees.max_fee);
  fees.priority_fee = std::min(fees.priority_fee, fees.max_fee);
  return fees;
}

}  // namespace

ProbeLife::ProbeLife(const Surroundings& surroundings, Fleet& fleet, std::size_t own, const std::string& region,
                     ProbeWish wish)
    : Life(surroundings, &fleet, own, record_for(fleet[own].provider, region, surroundings.exchange.unix_now())),
      wish_(std::move(wish)) {
  record_.propensity = wish_.propensity;
}

void ProbeLife::start() {
  if (wish_.key == nullptr) return ask_account();
  ask_nonce(text::to_hex(wish_.key->address()));
}

/// A transaction that nobody took is none: the next one of the account has its number.
void ProbeLife::refuse(const rpc::Failure& failure) {
  record_.tx_hash.reset();
  record_.nonce.reset();
  record_.max_cost_gwei.reset();
  record_.fail(failure);
  finish(State::rejected);
}

/// The same after its number was given: that is the next one's.
void ProbeLife::take_back(const rpc::Failure& failure) {
  note(BookStage::free);
  record_.raw.reset();
  refuse(failure);
}

void ProbeLife::ask_account() {
  auto call = call_to(*fleet_, *own_, "eth_accounts", "[]", surroundings_.plan.call_timeout);
  conversation_.ask(std::move(call), [this](const rpc::Answer& answer) {
    if (answer.failure) return refuse(*answer.failure);
    try {
      const auto account = chain::read_first_account(answer.result);
      if (account) return ask_nonce(*account);
      refuse({rpc::ErrorClass::rpc, "", "the node holds no account to send from; set RPCROUTE_KEY", {}});
    } catch (const chain::Misread& misread) {
      refuse({rpc::ErrorClass::malformed, "", misread.message, {}});
    }
  });
}

void ProbeLife::ask_nonce(const std::string& account) {
  account_ = account;
  const FollowPlan& plan = surroundings_.plan;
  NonceWish wish{account, *own_, wish_.send, plan.timeout(), plan.beat(), plan.call_timeout, wish_.known};
  wish_.known.reset();
  nonce_request_ =
      std::make_unique<NonceRequest>(surroundings_.exchange, *fleet_, surroundings_.book, std::move(wish),
                                     [this](std::optional<Numbering> numbering, std::optional<rpc::Failure> failure) {
                                       numbering ? number(std::move(*numbering)) : refuse(*failure);
                                     });
  nonce_request_->start();
}

void ProbeLife::number(Numbering numbering) {
  if (numbering.state.balance && *numbering.state.balance < chain::worst_case_cost(wish_.fees)) {
    return refuse(
        {rpc::ErrorClass::funds, "", "the account " + account_ + " cannot pay for the transaction at worst case", {}});
  }
  claim_ = std::move(numbering.claim);
  wish_.fees = fees_of_edition(wish_.fees, claim_->entry().edition);
  record_.nonce = claim_->nonce();
  record_.overlap = numbering.overlap;
  set_max_fee(wish_.fees.max_fee);
  if (const auto head = numbering.state.head_of_others) record_.submit_head = static_cast<std::int64_t>(*head);
  try {
    if (wish_.key != nullptr) sign();
    claim_->write(wish_.send ? BookStage::sent : BookStage::prepared, record_.tx_hash.value_or(""),
                  monotonic_seconds(conversation_.now()));
  } catch (const BookError& error) {
    record_.raw.reset();
    return refuse({rpc::ErrorClass::nonce, "book", error.what(), {}});
  }
  if (!wish_.send) {
    wish_.known = numbering.state;
    wish_.known->pending = claim_->nonce() + 1;
    record_.timestamp = conversation_.unix_now();
    record_.submit_head.reset();
    return finish(State::prepared);
  }
  wish_.key == nullptr ? send_by_node() : sign_and_send();
}

void ProbeLife::sign() {
  chain::Eip1559Transaction transaction;
  transaction.chain_id = *fleet_->chain_id();
  transaction.nonce = claim_->nonce();
  transaction.max_fee_per_gas = wish_.fees.max_fee;
  transaction.max_priority_fee_per_gas = wish_.fees.priority_fee;
  transaction.gas_limit = chain::transfer_gas;
  transaction.to = wish_.key->address();
  const chain::SignedTransaction signed_transaction = chain::sign_probe_transfer(transaction, *wish_.key);
  record_.tx_hash = text::to_hex(signed_transaction.hash);
  record_.raw = text::to_hex(signed_transaction.raw);
}

void ProbeLife::sign_and_send() {
  const auto timeout = surroundings_.plan.timeout();
  deliver(call_to_send(*fleet_, *own_, "eth_sendRawTransaction", json_strings({*record_.raw})), {},
          wish_.wait ? timeout : brief_patience());
  // The block does not wait for the acknowledgement.
  if (wish_.wait) watch(conversation_.now() + timeout);
}

void ProbeLife::send_by_node() {
  const std::string params = R"([{"from":")" + account_ + R"(","to":")" + account_ + R"(","value":"0x0","gas":")" +
                             chain::quantity(chain::transfer_gas) + R"(","maxFeePerGas":")" +
                             chain::quantity(wish_.fees.max_fee) + R"(","maxPriorityFeePerGas":")" +
                             chain::quantity(wish_.fees.priority_fee) + R"(","nonce":")" +
                             chain::quantity(claim_->nonce()) + R"("}])";
  deliver(call_to_send(*fleet_, *own_, "eth_sendTransaction", params), NodeTransaction{account_, claim_->nonce()},
          surroundings_.plan.timeout());
}

void ProbeLife::delivered(const DeliveryOutcome& outcome) {
  switch (outcome.end) {
    case DeliveryEnd::refused:
    case DeliveryEnd::unsent:
      return take_back(*outcome.failure);
    case DeliveryEnd::vanished:
      note(BookStage::free);
      record_.fail(*outcome.failure);
      return charge();
    case DeliveryEnd::lost:
      record_.fail(*outcome.failure);
      if (is_watching()) return;  // until its time is over
      if (outcome.complained && outcome.denied) return take_back(*outcome.failure);
      if (record_.tx_hash) return finish(State::pending);  // it may have landed, and tx_wait will tell
      if (outcome.denied) return charge();
      return leave_unobserved("its account and number do not tell what became of it: " + outcome.failure->message);
    case DeliveryEnd::accepted:
      break;
  }
  record_.tx_hash = outcome.tx_hash;
  record_.submit_ms = outcome.submit_ms;
  record_.submit_head = broadcast_head_->of_others(record_.submit_head);
  note(BookStage::taken);
  claim_->let_go();
  remember_broadcast();
  if (!wish_.wait) return finish(State::pending);
  if (!is_watching()) watch(*broadcast_ + surroundings_.plan.timeout());
}

}  // namespace rpcroute::transaction

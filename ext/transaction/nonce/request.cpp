#include "transaction/nonce/request.hpp"

#include <algorithm>

#include "chain/receipt.hpp"
#include "transaction/conversation/search.hpp"

namespace rpcroute::transaction {
namespace {

constexpr double believed_sec = 60;
constexpr double travelling_sec = 5;
constexpr double forgotten_sec = 3600;
constexpr rpc::Milliseconds lease_beat{20};

std::optional<std::uint64_t> balance_of(const rpc::Answer& answer) {
  if (answer.failure) return std::nullopt;
  try {
    return chain::read_quantity256_result(answer.result).saturated();
  } catch (const chain::Misread&) {
    return std::nullopt;
  }
}

bool is_recent(const BookEntry& entry, double unix_now) {
  const double age = unix_now - entry.time;
  return age < believed_sec && age > -believed_sec;
}

bool is_of_this_process(const BookEntry& entry) {
  return entry.process == this_process() && entry.process_started == this_process_started();
}

bool is_awaited(const BookEntry& entry, double unix_now) {
  return !is_of_this_process(entry) && may_yet_leave(entry, unix_now);
}

}  // namespace

bool may_yet_leave(const BookEntry& entry, double unix_now) {
  return entry.stage == BookStage::prepared && is_recent(entry, unix_now) && writer_lives(entry);
}

bool is_believed_unseen(const BookEntry& entry, double unix_now, std::optional<std::uint64_t> head,
                        bool denied_by_its_provider) {
  const bool same_chain = !head || *head >= entry.head;
  const bool is_travelling = unix_now - entry.time < travelling_sec;
  switch (entry.stage) {
    case BookStage::prepared:
      return same_chain && may_yet_leave(entry, unix_now);
    case BookStage::sent:
      return same_chain && is_recent(entry, unix_now) && (is_travelling || !denied_by_its_provider);
    case BookStage::mined:
      return false;
  }
  return false;
}

std::uint64_t choose_nonce(std::uint64_t pending, const std::map<std::uint64_t, bool>& believed) {
  std::uint64_t nonce = pending;
  for (auto at = believed.find(nonce); at != believed.end() && at->second; at = believed.find(nonce)) ++nonce;
  return nonce;
}

NonceRequest::NonceRequest(Exchange& exchange, Fleet& fleet, const NonceBook& book, NonceWish wish, Then then)
    : conversation_(exchange),
      fleet_(fleet),
      book_(book),
      wish_(std::move(wish)),
      then_(std::move(then)),
      started_(conversation_.now()) {}

void NonceRequest::start() {
  lease();
}

void NonceRequest::lease() {
  auto lease = book_.try_lease(fleet_.chain_id().value_or(0), wish_.account);
  if (!lease) return lease_later();
  if (awaited_) {
    const auto entries = lease->entries(fleet_.genesis());
    const auto entry = entries.find(*awaited_);
    if (entry != entries.end() && is_awaited(entry->second, conversation_.unix_now())) return lease_later();
  }
  numbering_.lease = std::make_shared<NonceLease>(std::move(*lease));
  ask();
}

void NonceRequest::lease_later() {
  if (conversation_.now() - started_ >= wish_.patience) {
    return refuse({rpc::ErrorClass::nonce, "", "another process is using the numbers of the account", {}});
  }
  conversation_.at(conversation_.now() + lease_beat, [this] { lease(); });
}

void NonceRequest::ask() {
  // A provider that was silent when the scan began is not waited for again, unless it is the one that was drawn.
  const bool drawn_is_known = fleet_[wish_.own].verified;
  const std::vector<std::size_t> strangers = drawn_is_known ? std::vector<std::size_t>() : fleet_.unverified();
  const std::vector<std::size_t> whom = drawn_is_known ? fleet_.verified() : fleet_.all_asked();
  std::vector<rpc::Call> calls = calls_to(fleet_, strangers, "eth_chainId", "[]", wish_.call_timeout);
  for (const std::size_t i : whom) {
    calls.push_back(
        call_to(fleet_, i, "eth_getTransactionCount", json_strings({wish_.account, "latest"}), wish_.call_timeout));
    calls.push_back(
        call_to(fleet_, i, "eth_getTransactionCount", json_strings({wish_.account, "pending"}), wish_.call_timeout));
    calls.push_back(call_to(fleet_, i, "eth_blockNumber", "[]", wish_.call_timeout));
    calls.push_back(call_to(fleet_, i, "eth_getBalance", json_strings({wish_.account, "latest"}), wish_.call_timeout));
  }
  conversation_.ask_all(std::move(calls), [this, strangers, whom](const std::vector<rpc::Answer>& answers) {
    const auto first_of_rest = answers.begin() + static_cast<std::ptrdiff_t>(strangers.size());
    fleet_.hear_chain_ids(strangers, {answers.begin(), first_of_rest});
    const Endpoint& own = fleet_[wish_.own];
    if (!own.verified) return refuse(own.excluded ? *own.excluded : *own.silence);
    hear(whom, {first_of_rest, answers.end()});
  });
}

void NonceRequest::refuse(const rpc::Failure& failure) {
  numbering_.lease.reset();
  then_(std::nullopt, failure);
}

void NonceRequest::hear(const std::vector<std::size_t>& whom, const std::vector<rpc::Answer>& answers) {
  Heads heads;
  bool counted = false;
  rpc::Failure failure{rpc::ErrorClass::malformed, "", "no provider tells the account's transaction count", {}};
  for (std::size_t k = 0; k < whom.size(); ++k) {
    if (!fleet_[whom[k]].verified) continue;
    const rpc::Answer* of_provider = &answers[4 * k];
    const auto latest = quantity_of(of_provider[0]);
    const auto pending = quantity_of(of_provider[1]);
    counted = counted || latest || pending;
    latest_ = std::max(latest_, latest.value_or(0));
    pending_ = std::max({pending_, pending.value_or(0), latest.value_or(0)});
    if (whom[k] == wish_.own && of_provider[1].failure) failure = *of_provider[1].failure;
    heads.add(quantity_of(of_provider[2]), whom[k] == wish_.own);
    const auto balance = balance_of(of_provider[3]);
    if (balance) numbering_.balance = std::max(numbering_.balance.value_or(0), *balance);
  }
  if (!counted) return refuse(failure);
  numbering_.head = heads.of_all();
  numbering_.head_of_others = heads.of_others();
  look_up();
}

void NonceRequest::look_up() {
  const std::vector<std::size_t> whom = fleet_.verified();
  entries_ = numbering_.lease->entries(fleet_.genesis());
  std::vector<BookEntry> doubtful;
  for (const auto& [nonce, entry] : entries_) {
    if (nonce >= pending_ && !entry.tx_hash.empty()) doubtful.push_back(entry);
  }
  std::vector<rpc::Call> calls;
  for (const BookEntry& entry : doubtful) {
    for (const std::size_t i : whom) {
      calls.push_back(
          call_to(fleet_, i, "eth_getTransactionByHash", json_strings({entry.tx_hash}), wish_.call_timeout));
    }
  }
  conversation_.ask_all(std::move(calls), [this, doubtful, whom](const std::vector<rpc::Answer>& answers) {
    std::set<std::uint64_t> witnessed;
    std::set<std::uint64_t> denied;
    for (std::size_t k = 0; k < answers.size(); ++k) {
      const BookEntry& entry = doubtful[k / whom.size()];
      const auto known = knows(answers[k], entry.tx_hash);
      if (known == true) witnessed.insert(entry.nonce);
      const bool its_own = fleet_[whom[k % whom.size()]].provider.provider_id == entry.provider;
      if (known == false && its_own) denied.insert(entry.nonce);
    }
    finish(witnessed, denied);
  });
}

std::int64_t NonceRequest::unmined_below(std::uint64_t nonce, const std::map<std::uint64_t, bool>& believed) const {
  auto unmined = static_cast<std::int64_t>(nonce - latest_);
  for (const auto& [earlier, entry] : entries_) {
    const bool mined = entry.stage == BookStage::mined && believed.at(earlier);
    if (mined && earlier >= latest_ && earlier < nonce) --unmined;
  }
  return unmined;
}

void NonceRequest::finish(const std::set<std::uint64_t>& witnessed, const std::set<std::uint64_t>& denied) {
  const double now = conversation_.unix_now();
  std::map<std::uint64_t, bool> believed;
  awaited_.reset();
  for (const auto& [nonce, entry] : entries_) {
    bool& counts = believed[nonce] = witnessed.contains(nonce);
    if (counts) continue;
    if (wish_.sends && nonce >= pending_ && !awaited_ && is_awaited(entry, now)) awaited_ = nonce;
    const bool is_taken_over = wish_.sends && entry.stage == BookStage::prepared && is_of_this_process(entry);
    counts = !is_taken_over && is_believed_unseen(entry, now, numbering_.head, denied.contains(nonce));
    if (!counts && now - entry.time > forgotten_sec) numbering_.lease->erase(nonce, entry.tx_hash);
  }
  if (awaited_) {
    numbering_ = {};
    latest_ = pending_ = 0;
    return lease_later();
  }
  numbering_.nonce = choose_nonce(pending_, believed);
  numbering_.overlap = unmined_below(numbering_.nonce, believed);
  then_(std::move(numbering_), std::nullopt);
}

}  // namespace rpcroute::transaction

#include "transaction/nonce/request.hpp"

#include <algorithm>

#include "chain/receipt.hpp"
#include "transaction/conversation/heads.hpp"
#include "transaction/conversation/search.hpp"

namespace rpcroute::transaction {
namespace {

constexpr double idle_sec = 60;
constexpr double forgotten_sec = 3600;
constexpr std::size_t most_looked_up = 256;
constexpr std::size_t forgotten_at_once = 64;
constexpr std::size_t questions = 4;

}  // namespace

bool may_yet_leave(const BookEntry& entry, const NonceLease& lease, const BookWriter& self, double monotonic_now) {
  return entry.stage == BookStage::prepared && entry.writer != self && entry.writer.boot == self.boot &&
         monotonic_now - lease.last_act(entry.writer) < idle_sec && writer_lives(entry.writer);
}

std::vector<rpc::Call> count_calls(const Fleet& fleet, std::size_t i, const std::string& account,
                                   rpc::Milliseconds call_timeout) {
  const auto call = [&](const char* tag) {
    return call_to(fleet, i, "eth_getTransactionCount", json_strings({account, tag}), call_timeout);
  };
  return {call("latest"), call("pending")};
}

std::optional<AccountCount> count_of(const rpc::Answer* two) {
  const AccountCount count{quantity_of(two[0]), quantity_of(two[1])};
  return count.latest || count.pending ? std::optional(count) : std::nullopt;
}

NonceRequest::NonceRequest(Exchange& exchange, Fleet& fleet, const NonceBook& book, NonceWish wish, Then then)
    : conversation_(exchange),
      fleet_(fleet),
      book_(book),
      wish_(std::move(wish)),
      then_(std::move(then)),
      started_(conversation_.now()) {}

void NonceRequest::lease() {
  try {
    lease_ = book_.try_lease(fleet_.chain_id().value_or(0), wish_.account);
    if (!lease_) return later(lease_beat, "another is using the numbers of the account");
    if (!wish_.known) return ask();
    state_ = *wish_.known;
    entries_ = lease_->from(fleet_.genesis(), state_.pending);
    weigh();
  } catch (const BookError& error) {
    refuse({rpc::ErrorClass::nonce, "book", error.what(), {}});
  }
}

void NonceRequest::later(rpc::Clock::duration pause, const std::string& reason) {
  if (conversation_.now() - started_ >= wish_.patience) {
    return refuse({rpc::ErrorClass::nonce, "", reason, {}});
  }
  lease_.reset();
  conversation_.after(pause, [this] { lease(); });
}

void NonceRequest::ask() {
  // A provider that was silent when the scan began is not waited for again, unless it is the one that was drawn.
  const bool drawn_is_known = fleet_[wish_.own].verified;
  const std::vector<std::size_t> strangers = drawn_is_known ? std::vector<std::size_t>() : fleet_.unverified();
  const std::vector<std::size_t> whom = drawn_is_known ? fleet_.verified() : fleet_.all_asked();
  std::vector<rpc::Call> calls = calls_to(fleet_, strangers, "eth_chainId", "[]", wish_.call_timeout);
  for (const std::size_t i : whom) {
    append(calls, count_calls(fleet_, i, wish_.account, wish_.call_timeout));
    calls.push_back(call_to(fleet_, i, "eth_blockNumber", "[]", wish_.call_timeout));
    calls.push_back(call_to(fleet_, i, "eth_getBalance", json_strings({wish_.account, "latest"}), wish_.call_timeout));
  }
  conversation_.ask_all(std::move(calls), [this, strangers, whom](const std::vector<rpc::Answer>& answers) {
    const auto all = std::span(answers);
    fleet_.hear_chain_ids(strangers, all.first(strangers.size()));
    const Member& own = fleet_[wish_.own];
    if (!own.verified) return refuse(own.excluded ? *own.excluded : *own.silence);
    hear(whom, all.subspan(strangers.size()));
  });
}

void NonceRequest::refuse(const rpc::Failure& failure) {
  lease_.reset();
  then_(std::nullopt, failure);
}

void NonceRequest::hear(const std::vector<std::size_t>& whom, std::span<const rpc::Answer> answers) {
  Heads heads(fleet_, wish_.own);
  std::vector<AccountCount> counts;
  rpc::Failure failure{rpc::ErrorClass::malformed, "", "no provider tells the account's transaction count", {}};
  state_ = {};
  for (std::size_t k = 0; k < whom.size(); ++k) {
    if (!fleet_[whom[k]].verified) continue;
    const rpc::Answer* of_provider = &answers[questions * k];
    if (const auto count = count_of(of_provider)) counts.push_back(*count);
    if (whom[k] == wish_.own && of_provider[1].failure) failure = *of_provider[1].failure;
    heads.add(whom[k], quantity_of(of_provider[2]));
    const auto balance = read_of(of_provider[3], chain::read_quantity256_result);
    if (balance) state_.balance = std::max(state_.balance.value_or(0), balance->saturated());
  }
  if (counts.empty()) return refuse(failure);
  state_.head = heads.of_all();
  state_.head_of_others = heads.of_others();
  entries_ = lease_->from(fleet_.genesis(), 0);
  const auto agreed = count_.hear(agree(counts, taken_up_to(entries_), fleet_.all_asked().size() > 1));
  if (!agreed) return later(wish_.beat, "providers disagree on its transactions");
  state_.latest = agreed->latest;
  state_.pending = agreed->pending;
  weigh();
}

void NonceRequest::weigh() {
  // The last one stays, whatever is counted: it is what bears out a count that one provider alone tells.
  const auto mined = static_cast<std::size_t>(std::count_if(
      entries_.begin(), entries_.end(), [&](const BookEntry& entry) { return entry.nonce < state_.latest; }));
  if (mined > forgotten_at_once) forget_below(entries_[mined - 1].nonce);
  std::vector<BookEntry> doubtful;
  std::uint64_t number = state_.pending;
  for (const BookEntry& entry : entries_) {
    if (entry.nonce < number) continue;
    if (entry.nonce > number || entry.stage == BookStage::free) break;
    ++number;
    if (wish_.sends && may_yet_leave(entry, *lease_, book_.writer(), now())) {
      return later(lease_beat, "another has prepared transaction " + std::to_string(entry.nonce) + " of the account");
    }
    if (entry.stage != BookStage::prepared && doubtful.size() < most_looked_up) doubtful.push_back(entry);
  }
  doubtful.empty() ? choose() : look_up(std::move(doubtful));
}

void NonceRequest::forget_below(std::uint64_t nonce) try {
  lease_->forget_below(fleet_.genesis(), nonce);
} catch (const BookError&) {
  // It only keeps the book short.
}

void NonceRequest::look_up(std::vector<BookEntry> doubtful) {
  const std::vector<std::size_t> whom = ready_ones(conversation_, fleet_, fleet_.verified());
  std::vector<rpc::Call> calls;
  for (const BookEntry& entry : doubtful) {
    const std::string block = R"([")" + chain::quantity(entry.block) + R"(",false])";
    for (const std::size_t i : whom) {
      const std::string hash = json_strings({entry.tx_hash});
      calls.push_back(call_to(fleet_, i, "eth_getTransactionByHash", hash, wish_.call_timeout));
      calls.push_back(call_to(fleet_, i, "eth_getTransactionReceipt", hash, wish_.call_timeout));
      calls.push_back(call_to(fleet_, i, "eth_getBlockByNumber", block, wish_.call_timeout));
    }
  }
  conversation_.ask_all(std::move(calls),
                        [this, doubtful = std::move(doubtful), whom](const std::vector<rpc::Answer>& answers) {
                          hear_look_up(doubtful, whom, answers);
                        });
}

void NonceRequest::hear_look_up(const std::vector<BookEntry>& doubtful, const std::vector<std::size_t>& whom,
                                const std::vector<rpc::Answer>& answers) {
  const rpc::Answer* answer = answers.data();
  for (const BookEntry& entry : doubtful) {
    Evidence& evidence = evidence_.try_emplace(entry.nonce, Evidence{conversation_.now()}).first->second;
    Hearing heard;
    bool same_block = false;
    bool other_block = false;
    for (const std::size_t i : whom) {
      const auto known = knows(*answer++, entry.tx_hash);
      evidence.witnessed = has_receipt(*answer++, entry.tx_hash) == true || known == true || evidence.witnessed;
      const auto block = block_of(*answer++);
      if (block && !entry.block_hash.empty()) (block->hash == entry.block_hash ? same_block : other_block) = true;
      if (known) heard.hear(fleet_[i].provider.provider_id == entry.provider, *known);
    }
    evidence.another_chain = other_block && !same_block;
    // One that a node was to sign has no hash to ask for, and a provider that is gone denies nothing.
    const bool denied = fleet_.find(entry.provider) ? heard.denied() : heard.another_denies;
    evidence.denials += denied || entry.tx_hash.empty() ? 1 : 0;
  }
  choose();
}

void NonceRequest::choose() {
  std::uint64_t number = state_.pending;
  for (const BookEntry& entry : entries_) {
    if (entry.nonce < number) continue;
    if (entry.nonce > number) break;
    switch (judge(entry)) {
      case Given::used:
        ++number;
        continue;
      case Given::open:
        return give(number);
      case Given::unsure:
        return later(wish_.beat, "transaction " + std::to_string(number) +
                                     " of the account may still be on its way: nobody shows it");
    }
  }
  give(number);
}

NonceRequest::Given NonceRequest::judge(const BookEntry& entry) const {
  const auto found = evidence_.find(entry.nonce);
  const Evidence evidence = found == evidence_.end() ? Evidence{conversation_.now()} : found->second;
  if (evidence.witnessed) return Given::used;
  if (entry.stage == BookStage::free || evidence.another_chain) return Given::open;
  if (entry.stage == BookStage::prepared) return judge_prepared(entry);
  const auto doubt = wish_.sends || entry.stage == BookStage::sent ? Given::unsure : Given::used;
  const bool waited = conversation_.now() - evidence.since >= blocks_that_count * fleet_.block_time();
  const bool shorter = state_.head && *state_.head < std::max(entry.head, entry.block);
  if (shorter) return waited ? Given::open : doubt;
  if (entry.stage == BookStage::mined) return Given::used;
  const bool expected_to_show = !state_.head || *state_.head >= entry.head + blocks_that_count;
  if (entry.stage == BookStage::taken && !expected_to_show) return Given::used;
  const Given given = judge_sent(entry, evidence);
  return given == Given::unsure ? doubt : given;
}

NonceRequest::Given NonceRequest::judge_prepared(const BookEntry& entry) const {
  // One that sends takes over what this book prepared; one that prepares, what was left lying for a while.
  const BookWriter self = book_.writer();
  if (entry.writer == self) return wish_.sends || now() - entry.time >= idle_sec ? Given::open : Given::used;
  return may_yet_leave(entry, *lease_, self, now()) ? Given::used : Given::open;
}

NonceRequest::Given NonceRequest::judge_sent(const BookEntry& entry, const Evidence& evidence) const {
  const bool of_this_boot = entry.writer.boot == book_.writer().boot;
  const double age = of_this_boot ? now() - entry.time : forgotten_sec;
  if (age >= forgotten_sec) return Given::open;
  const bool grown = state_.head && *state_.head >= entry.head + blocks_that_count;
  const bool late = clock_seconds(age) >= blocks_that_count * fleet_.block_time();
  return evidence.denials >= denials_that_count && (grown || late) ? Given::open : Given::unsure;
}

void NonceRequest::give(std::uint64_t nonce) {
  const auto before = lease_->find(fleet_.genesis(), nonce);
  BookEntry entry;
  entry.nonce = nonce;
  entry.provider = fleet_[wish_.own].provider.provider_id;
  entry.genesis = fleet_.genesis();
  entry.edition = before ? before->edition + 1 : 0;
  if (fleet_.latest()) {
    entry.block = fleet_.latest()->number;
    entry.block_hash = fleet_.latest()->hash;
  }
  entry.head = state_.head.value_or(entry.block);
  Claim claim(book_, fleet_.chain_id().value_or(0), wish_.account, std::move(entry), std::move(lease_));
  lease_.reset();
  then_(Numbering{std::move(claim), unmined_below(nonce), state_}, std::nullopt);
}

std::int64_t NonceRequest::unmined_below(std::uint64_t nonce) const {
  auto unmined = static_cast<std::int64_t>(nonce - std::min(nonce, state_.latest));
  for (const BookEntry& entry : entries_) {
    const bool mined = entry.stage == BookStage::mined && entry.nonce >= state_.latest && entry.nonce < nonce;
    if (mined) --unmined;
  }
  return unmined;
}

}  // namespace rpcroute::transaction

#include "chain.hpp"

#include <algorithm>
#include <cmath>
#include <queue>

namespace rpcroute::devnet {
namespace {

constexpr std::size_t blocks_at_start = 64;

/// keccak(rlp([])), the uncles of every block.
const Hash& no_uncles() {
  static const Hash hash = keccak(rlp_encode(Rlp::list({})));
  return hash;
}

Wei opening_balance() {
  return Wei("10000000000000000000000");
}  // 10,000 ether

Hash root_of(const std::vector<Transaction>& transactions) {
  Bytes hashes;
  for (const auto& tx : transactions) hashes.insert(hashes.end(), tx.hash.begin(), tx.hash.end());
  return keccak(hashes);
}

}  // namespace

PrivateKey development_key(std::size_t index) {
  return keccak(view("rpcroute-devnet:" + std::to_string(index)));
}

Bytes header_rlp(const Block& block) {
  static const Bytes bloom(256), nonce(8);
  return rlp_encode(
      Rlp::list({Rlp::string(block.parent), Rlp::string(no_uncles()), Rlp::string(Address{}), Rlp::string(block.mix),
                 Rlp::string(block.transactions_root), Rlp::string(block.transactions_root), Rlp::string(bloom),
                 Rlp::number(0), Rlp::number(block.number), Rlp::number(Block::gas_limit), Rlp::number(block.gas_used),
                 Rlp::number(block.timestamp), Rlp::string({}), Rlp::string(block.mix), Rlp::string(nonce),
                 Rlp::number(block.base_fee)}));
}

Chain::Chain(const FleetConfig& config, double now)
    : seed_(config.seed),
      chain_id_(config.chain_id),
      first_block_(config.first_block),
      base_fee_(config.base_fee),
      funded_(config.funded.begin(), config.funded.end()),
      fund_all_(config.fund_all) {
  for (std::size_t i = 0; i < config.accounts; ++i) funded_.insert(address_of(development_key(i)));
  const double slot_sec = (config.slot_ms > 0 ? config.slot_ms : 1000) / 1000;
  for (std::size_t i = 0; i < blocks_at_start; ++i) {
    append(slot_++, now - slot_sec * static_cast<double>(blocks_at_start - 1 - i), {});
  }
  --slot_;
}

const Block* Chain::by_number(std::uint64_t number) const {
  if (number < first().number || number > head().number) return nullptr;
  return &blocks_[number - first().number];
}

const Block* Chain::by_hash(const Hash& hash) const {
  const auto found = numbers_.find(hash);
  return found == numbers_.end() ? nullptr : by_number(found->second);
}

std::optional<Inclusion> Chain::find(const Hash& transaction) const {
  const auto found = inclusions_.find(transaction);
  if (found == inclusions_.end()) return std::nullopt;
  return Inclusion{by_number(found->second.first), found->second.second};
}

AccountState Chain::state(const Address& address, std::uint64_t height) const {
  const auto account = accounts_.find(address);
  if (account != accounts_.end()) {
    const auto& changes = account->second;
    const auto later = std::upper_bound(changes.begin(), changes.end(), height,
                                        [](std::uint64_t h, const Change& change) { return h < change.height; });
    if (later != changes.begin()) return std::prev(later)->state;
  }
  return {0, fund_all_ || funded_.contains(address) ? opening_balance() : Wei{0}};
}

const Block& Chain::produce(Mempool& pool, double now, double deadline) {
  ++slot_;
  auto chosen = select(pool, deadline);
  for (const auto& tx : chosen) pool.erase(tx.hash);
  return append(slot_, now, std::move(chosen));
}

/// Best tip first among the next executable transaction of every sender, as block builders do.
std::vector<Transaction> Chain::select(const Mempool& pool, double deadline) const {
  std::vector<Transaction> chosen;
  std::map<Address, AccountState> states;
  std::uint64_t gas_left = Block::gas_limit;
  const auto executable = [&](const Address& sender) -> const Transaction* {
    auto state = states.find(sender);
    if (state == states.end()) state = states.emplace(sender, this->state(sender, head().number)).first;
    const Pooled* next = pool.find(sender, state->second.nonce);
    const bool fits = next && next->eligible_slot <= slot_ && next->since <= deadline &&
                      next->transaction.max_fee >= base_fee_ && next->transaction.cost() <= state->second.balance;
    return fits ? &next->transaction : nullptr;
  };
  const auto cheaper = [&](const Transaction* a, const Transaction* b) {
    return a->gas_price(base_fee_) < b->gas_price(base_fee_);
  };
  std::priority_queue<const Transaction*, std::vector<const Transaction*>, decltype(cheaper)> offers(cheaper);
  const auto offer_next_of = [&](const Address& sender) {
    if (const Transaction* tx = executable(sender)) offers.push(tx);
  };
  for (const auto& [sender, unused] : pool.senders()) offer_next_of(sender);
  while (!offers.empty()) {
    const Transaction& best = *offers.top();
    offers.pop();
    if (best.intrinsic_gas() > gas_left) continue;
    auto& state = states[best.from];
    ++state.nonce;
    state.balance -= best.gas_price(base_fee_) * best.intrinsic_gas() + best.value;
    gas_left -= best.intrinsic_gas();
    chosen.push_back(best);
    offer_next_of(best.from);
  }
  return chosen;
}

const Block& Chain::append(std::uint64_t slot, double now, std::vector<Transaction> transactions) {
  Block block;
  block.number = blocks_.empty() ? first_block_ : head().number + 1;
  block.slot = slot;
  block.time = now;
  block.timestamp = static_cast<std::uint64_t>(std::floor(now));
  block.base_fee = base_fee_;
  if (!blocks_.empty()) block.parent = head().hash;
  block.mix = keccak(view(std::to_string(seed_) + "/" + std::to_string(++produced_)));
  for (const auto& tx : transactions) {
    block.gas_used += tx.intrinsic_gas();
    block.size += 120 + tx.data.size();
  }
  block.transactions_root = root_of(transactions);
  block.transactions = std::move(transactions);
  const auto header = header_rlp(block);
  block.size += header.size();
  block.hash = keccak(header);
  for (std::size_t i = 0; i < block.transactions.size(); ++i) {
    inclusions_[block.transactions[i].hash] = {block.number, i};
    apply(block.transactions[i], block);
  }
  numbers_[block.hash] = block.number;
  blocks_.push_back(std::move(block));
  return blocks_.back();
}

void Chain::apply(const Transaction& tx, const Block& block) {
  auto sender = state(tx.from, block.number);
  ++sender.nonce;
  sender.balance -= tx.gas_price(block.base_fee) * tx.intrinsic_gas() + tx.value;
  set(tx.from, block.number, sender);
  if (!tx.to) return;
  auto recipient = state(*tx.to, block.number);
  recipient.balance += tx.value;
  set(*tx.to, block.number, recipient);
}

void Chain::set(const Address& address, std::uint64_t height, AccountState state) {
  auto& changes = accounts_[address];
  if (!changes.empty() && changes.back().height == height)
    changes.back().state = std::move(state);
  else
    changes.push_back({height, std::move(state)});
}

std::vector<Transaction> Chain::reorganise(std::size_t depth) {
  depth = std::min(depth, blocks_.size() - 1);
  std::vector<Block> removed(std::make_move_iterator(blocks_.end() - static_cast<std::ptrdiff_t>(depth)),
                             std::make_move_iterator(blocks_.end()));
  blocks_.resize(blocks_.size() - depth);
  for (auto& [address, changes] : accounts_) {
    while (!changes.empty() && changes.back().height > head().number) changes.pop_back();
  }
  std::vector<Transaction> orphans;
  for (auto& block : removed) {
    numbers_.erase(block.hash);
    for (auto& tx : block.transactions) {
      inclusions_.erase(tx.hash);
      orphans.push_back(std::move(tx));
    }
    append(block.slot, block.time, {});
  }
  return orphans;
}

}  // namespace rpcroute::devnet

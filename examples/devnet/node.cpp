#include "node.hpp"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>

namespace rpcroute::devnet {
namespace {

void after(boost::asio::io_context& io, double ms, std::function<void()> action) {
  auto timer = std::make_shared<boost::asio::steady_timer>(io);
  timer->expires_after(std::chrono::nanoseconds(static_cast<std::int64_t>(ms * 1e6)));
  timer->async_wait([timer, action = std::move(action)](const boost::system::error_code& error) {
    if (!error) action();
  });
}

}  // namespace

Node::Node(World& world, const ProviderConfig& config)
    : world_(world),
      config_(config),
      lag_(config.lag, world.config.seed, config.provider_id),
      random_(world.config.seed, config.provider_id, "transactions"),
      seen_head_(world.chain.head().number),
      announced_(seen_head_) {}

void Node::on_slot(bool has_block) {
  if (config_.head_delay_ms > 0) {
    after(world_.io, config_.head_delay_ms, [this, has_block, head = world_.chain.head().number] {
      seen_head_ = std::max(seen_head_, head);
      settle(has_block);
    });
    return;
  }
  seen_head_ = world_.chain.head().number;
  settle(has_block);
}

void Node::fix_lag(std::optional<std::uint64_t> blocks) {
  lag_.fix(blocks);
  release();
}

void Node::settle(bool has_block) {
  lag_.step(has_block);
  release();
}

/// After the view may have moved: what waited for it goes on.
void Node::release() {
  const std::uint64_t height = view();
  if (lag_.blocks() != logged_lag_) world_.truth.lag(config_.provider_id, logged_lag_ = lag_.blocks());
  own_.erase_stale([&](const Address& address) { return world_.chain.state(address, height).nonce; });
  const auto ready = std::stable_partition(held_.begin(), held_.end(), [&](const Held& h) { return h.until > height; });
  const std::vector<Held> released(ready, held_.end());
  held_.erase(ready, held_.end());
  for (const auto& held : released) propagate(held.hash);
  while (announced_ < height) {
    ++announced_;
    if (on_head) on_head(announced_);
  }
}

std::uint64_t Node::view() const {
  const std::uint64_t oldest = world_.chain.first().number;
  return seen_head_ - std::min(lag_.blocks(), seen_head_ - oldest);
}

std::uint64_t Node::look() {
  return lag_.hits() ? view() : seen_head_;
}

std::optional<Rejection> Node::submit(const Transaction& tx, std::uint64_t height) {
  const auto refused = refusal(tx, height);
  world_.truth.arrived(tx, config_.provider_id, world_.chain.head().number, refused ? refused->message : "accepted");
  if (!refused) hold(tx, height);
  return refused;
}

std::optional<Rejection> Node::refusal(const Transaction& tx, std::uint64_t height) const {
  const bool sees_pool = is_fresh(height);
  if (own_.find(tx.hash) || (sees_pool && world_.pool.find(tx.hash))) return already_known();
  const auto sender = world_.chain.state(tx.from, height);
  if (auto refused = check(tx, sender, world_.config.min_tip, Block::gas_limit)) return refused;
  if (auto refused = own_.conflict(tx)) return refused;
  return sees_pool ? world_.pool.conflict(tx) : std::nullopt;
}

void Node::hold(const Transaction& tx, std::uint64_t height) {
  if (const auto replaced = own_.put({tx})) {
    std::erase_if(held_, [&](const Held& held) { return held.hash == *replaced; });
    if (!world_.pool.find(*replaced)) world_.truth.dropped(*replaced, "replaced");
  }
  const std::uint64_t head = world_.chain.head().number;
  if (height >= head)
    propagate(tx.hash);
  else
    held_.push_back({tx.hash, head});
}

void Node::propagate(const Hash& hash) {
  const double ms = random_.lognormal(config_.propagation.median_ms, config_.propagation.sigma);
  if (ms > 0)
    after(world_.io, ms, [this, hash] { pass_on(hash); });
  else
    pass_on(hash);
}

void Node::pass_on(const Hash& hash) {
  const Pooled* own = own_.find(hash);
  if (!own) return;
  const Transaction tx = own->transaction;
  const auto drop = [&](const std::string& reason) {
    own_.erase(hash);
    world_.truth.dropped(hash, reason);
  };
  if (!world_.chain.find(hash) && tx.nonce < world_.chain.state(tx.from, world_.chain.head().number).nonce) {
    return drop("nonce too low");
  }
  const bool is_there = world_.pool.find(hash) || world_.chain.find(hash);
  if (!is_there && world_.pool.conflict(tx)) return drop("replacement transaction underpriced");
  const double now = unix_now();
  own_.put({tx, now, 0});
  world_.truth.passed_on(hash, config_.provider_id, world_.chain.head().number);
  if (is_there) return;
  if (const auto replaced = world_.pool.put({tx, now, first_eligible_slot()})) {
    world_.truth.dropped(*replaced, "replaced");
  }
}

/// Each slot misses the provider's transactions with one probability; a few wait much longer.
std::uint64_t Node::first_eligible_slot() {
  std::uint64_t slot = world_.chain.slot() + 1;
  while (random_.chance(config_.miss_probability)) ++slot;
  if (random_.chance(config_.tail_probability)) slot += 5 + static_cast<std::uint64_t>(random_.uniform(0, 4));
  return slot;
}

/// Not passed on yet, or passed on and neither dropped nor replaced since.
bool Node::is_alive(const Pooled& own) const {
  const auto& hash = own.transaction.hash;
  return own.since == 0 || world_.pool.find(hash) || world_.chain.find(hash);
}

std::uint64_t Node::pending_nonce(const Address& address, std::uint64_t height) const {
  std::uint64_t nonce = world_.chain.state(address, height).nonce;
  const auto is_taken = [&] {
    const Pooled* own = own_.find(address, nonce);
    return (own && is_alive(*own)) || (is_fresh(height) && world_.pool.find(address, nonce));
  };
  while (is_taken()) ++nonce;
  return nonce;
}

const Transaction* Node::pending(const Hash& hash, std::uint64_t height) const {
  const Pooled* own = own_.find(hash);
  if (own && is_alive(*own)) return &own->transaction;
  const Pooled* pooled = is_fresh(height) ? world_.pool.find(hash) : nullptr;
  return pooled ? &pooled->transaction : nullptr;
}

bool Node::forget(const Hash& hash) {
  std::erase_if(held_, [&](const Held& held) { return held.hash == hash; });
  return own_.erase(hash);
}

}  // namespace rpcroute::devnet

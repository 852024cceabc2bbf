#include "fleet.hpp"

#include <algorithm>
#include <boost/asio/ssl/context.hpp>

namespace rpcroute::devnet {

namespace asio = boost::asio;

Fleet::Fleet(asio::io_context& io, const FleetConfig& config, const std::string& log, unsigned short port_base)
    : world_(io, config, log),
      slots_(config.seed, "chain", "slots"),
      stamping_(stamping_enabled(world_.io)),
      tls_(untrusted_tls()),
      timer_(world_.io) {
  for (const auto& provider : config.providers) {
    const auto port = port_base == 0 ? 0 : port_base + endpoints_.size();
    endpoints_.emplace_back(world_, provider, static_cast<unsigned short>(port), *tls_);
  }
}

Fleet::~Fleet() = default;

Endpoint* Fleet::find(std::string_view provider_id) {
  const auto found = std::find_if(endpoints_.begin(), endpoints_.end(),
                                  [&](const Endpoint& endpoint) { return endpoint.provider_id() == provider_id; });
  return found == endpoints_.end() ? nullptr : &*found;
}

void Fleet::start() {
  if (world_.config.slot_ms <= 0) return;
  next_slot_ = Clock::now();
  tick();
}

/// Slots keep to their grid however late one was.
void Fleet::tick() {
  next_slot_ += std::chrono::nanoseconds(static_cast<std::int64_t>(world_.config.slot_ms * 1e6));
  timer_.expires_at(next_slot_);
  timer_.async_wait([this](ErrorCode error) {
    if (error) return;
    advance();
    tick();
  });
}

void Fleet::advance() {
  const bool is_missed = slots_.chance(world_.config.missed_slot_probability);
  if (is_missed) {
    world_.chain.miss_slot();
    world_.truth.missed(world_.chain.slot());
  } else {
    const double now = unix_now();
    world_.truth.block(world_.chain.produce(world_.pool, now, now - world_.config.cutoff_ms / 1000));
  }
  const auto& chain = world_.chain;
  const auto stale =
      world_.pool.erase_stale([&](const Address& sender) { return chain.state(sender, chain.head().number).nonce; });
  for (const auto& hash : stale) world_.truth.dropped(hash, "nonce too low");
  for (auto& endpoint : endpoints_) endpoint.node().on_slot(!is_missed);
  world_.truth.flush();
}

void Fleet::reorganise(std::size_t depth) {
  const auto orphans = world_.chain.reorganise(depth);
  world_.truth.reorganised(depth, orphans, world_.chain.head().number);
  const double now = unix_now();
  for (const auto& tx : orphans) world_.pool.put({tx, now, 0});
  world_.truth.flush();
}

bool Fleet::drop(const Hash& hash) {
  bool was_known = world_.pool.erase(hash);
  for (auto& endpoint : endpoints_) was_known |= endpoint.node().forget(hash);
  if (was_known) world_.truth.dropped(hash, "dropped by the control port");
  return was_known;
}

}  // namespace rpcroute::devnet

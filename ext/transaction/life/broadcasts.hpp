// What this process has sent, and when: what times a transaction that another statement waits for.
#pragma once

#include <cmath>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "rpc/wait.hpp"

namespace rpcroute::transaction {

/// One broadcast, and the row it was made for.
struct Broadcast {
  rpc::Clock::time_point started;
  double timestamp = 0;
  std::string provider_id;
  std::optional<double> prepared;  ///< the row's timestamp before the broadcast
  std::optional<double> submit_ms;
  std::optional<std::int64_t> submit_head;
  std::optional<double> propensity;
  std::int64_t overlap = 0;

  /// Whether a row that names this provider and moment is the one it was made for. A row without a moment is. Moments
  /// are the same to a millisecond: JSON functions of SQLite write fifteen digits of them.
  bool is_of(const std::string& row_provider, std::optional<double> row_timestamp) const {
    const auto is_same = [&](double moment) { return std::abs(*row_timestamp - moment) < 0.001; };
    return row_provider == provider_id && (!row_timestamp || !prepared || is_same(timestamp) || is_same(*prepared));
  }
};

/// By transaction hash; the newest hundred thousand. Thread-safe.
class Broadcasts {
 public:
  void remember(const std::string& tx_hash, const Broadcast& broadcast) {
    const std::lock_guard lock(mutex_);
    const bool is_new = broadcasts_.insert_or_assign(tx_hash, broadcast).second;
    if (is_new) order_.push_back(tx_hash);
    if (order_.size() <= most) return;
    broadcasts_.erase(order_.front());
    order_.pop_front();
  }

  /// Nobody knows any more when it left.
  void forget(const std::string& tx_hash) {
    const std::lock_guard lock(mutex_);
    broadcasts_.erase(tx_hash);
  }

  std::optional<Broadcast> find(const std::string& tx_hash) const {
    const std::lock_guard lock(mutex_);
    const auto found = broadcasts_.find(tx_hash);
    return found == broadcasts_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  static constexpr std::size_t most = 100'000;
  mutable std::mutex mutex_;
  std::map<std::string, Broadcast> broadcasts_;
  std::deque<std::string> order_;
};

}  // namespace rpcroute::transaction

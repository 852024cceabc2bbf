// How soon a provider that asked to be left alone, or that fails, is asked again.
#pragma once

#include "rpc/client.hpp"

namespace rpcroute::transaction {

/// Of one provider. What it asks for (Retry-After, backoff_seconds) is kept to; without that, each failure in a row
/// doubles the pause, from a quarter of a second to half a minute. An answer ends it. A complaint about the transaction
/// is an answer, too: the provider is well.
class Pace {
 public:
  void hear(const rpc::Answer& answer);

  /// Not before this moment.
  rpc::Clock::time_point ready() const { return ready_; }

  /// Until then it has asked for rest itself.
  rpc::Clock::time_point rests_until() const { return rests_until_; }

 private:
  rpc::Clock::time_point ready_{};
  rpc::Clock::time_point rests_until_{};
  int failures_ = 0;
};

}  // namespace rpcroute::transaction

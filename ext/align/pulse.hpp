// Long work that can be told to stop.
#pragma once

#include <cstdint>
#include <functional>

namespace rpcroute::align {

/// Called every few milliseconds by work that may take long; throws to end it. An empty one is never called.
using Pulse = std::function<void()>;

/// Counts steps of some nanoseconds and calls the pulse every so many.
class Steps {
 public:
  static constexpr std::uint32_t kBetweenPulses = 1U << 16;

  explicit Steps(const Pulse& pulse) : pulse_(pulse) {}
  void operator()() {
    if (++count_ % kBetweenPulses == 0 && pulse_) pulse_();
  }

 private:
  const Pulse& pulse_;
  std::uint32_t count_ = 0;
};

}  // namespace rpcroute::align

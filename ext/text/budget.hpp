// What work on foreign input may cost, and who may end it.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace rpcroute::text {

/// Called every few milliseconds by work that may take long; throws to end it. An empty one is never called.
using Pulse = std::function<void()>;

/// The input asks for more than it is worth. The message says of what, and how much there is.
struct OverBudget : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Handed by reference to whatever reads, checks, compiles or evaluates what a stranger wrote, and works longer than
/// 50 ms at the worst: what it has used of a budget of bytes, cells (values held at once), steps and depth, and the
/// interrupt of the statement that it works for. Without limits it only passes the interrupt on. Not shared by threads.
class Budget {
 public:
  struct Limits {
    std::uint64_t bytes = std::numeric_limits<std::uint64_t>::max();  ///< of input
    std::uint64_t cells = std::numeric_limits<std::uint64_t>::max();  ///< values that the input makes us hold
    std::uint64_t steps = std::numeric_limits<std::uint64_t>::max();  ///< of some nanoseconds each
    std::uint64_t depth = std::numeric_limits<std::uint64_t>::max();  ///< levels of nesting
  };

  Budget() = default;
  explicit Budget(Pulse pulse) : pulse_(std::move(pulse)) {}
  explicit Budget(const Limits& limits, Pulse pulse = {}) : left_(limits), limits_(limits), pulse_(std::move(pulse)) {}

  /// These throw OverBudget when more is asked for than is left, before anything is used up.
  void bytes(std::uint64_t count) { use(left_.bytes, count, limits_.bytes, "bytes"); }
  void cells(std::uint64_t count = 1) { use(left_.cells, count, limits_.cells, "values"); }

  /// The same, and the pulse once for every `steps_between_pulses`.
  void step() {
    if (--until_pulse_ == 0) rest(steps_between_pulses);
  }
  void steps(std::uint64_t count) {
    if (count < until_pulse_) {
      until_pulse_ -= static_cast<std::uint32_t>(count);
    } else {
      rest(steps_between_pulses - until_pulse_ + count);
    }
  }

  std::uint64_t steps_used() const { return limits_.steps - left_.steps + (steps_between_pulses - until_pulse_); }

  /// One level of nesting, for as long as this stands.
  class Level {
   public:
    explicit Level(Budget& budget) : budget_(budget) {
      budget_.use(budget_.left_.depth, 1, budget_.limits_.depth, "levels");
    }
    ~Level() { ++budget_.left_.depth; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Budget& budget_;
  };

  static constexpr std::uint32_t steps_between_pulses = 1U << 16;

 private:
  static void use(std::uint64_t& left, std::uint64_t count, std::uint64_t limit, const char* what) {
    if (count > left) throw OverBudget("more than " + std::to_string(limit) + ' ' + what);
    left -= count;
  }

  /// Accounts `count` steps, and begins the next stretch.
  void rest(std::uint64_t count) {
    until_pulse_ = steps_between_pulses;
    use(left_.steps, count, limits_.steps, "steps of work");
    if (pulse_) pulse_();
  }

  Limits left_;
  Limits limits_;
  Pulse pulse_;
  std::uint32_t until_pulse_ = steps_between_pulses;
};

}  // namespace rpcroute::text

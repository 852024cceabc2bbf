#include "transaction/conversation/pace.hpp"

#include <algorithm>

#include "transaction/conversation/wire.hpp"

namespace rpcroute::transaction {
namespace {

constexpr rpc::Milliseconds first_pause{250};
constexpr rpc::Milliseconds longest_pause{30'000};
constexpr int most_doublings = 7;

}  // namespace

void Pace::hear(const rpc::Answer& answer) {
  const bool answered =
      !answer.failure || (answer.complained && answer.failure->error_class != rpc::ErrorClass::rate_limited);
  const auto asked = answer.failure ? answer.failure->retry_after_sec : std::nullopt;
  failures_ = answered ? 0 : failures_ + 1;
  if (asked) {
    ready_ = rests_until_ = answer.finished + clock_seconds(*asked);
  } else if (!answered) {
    const auto pause = first_pause * (1 << std::min(failures_ - 1, most_doublings));
    ready_ = std::max(ready_, answer.finished + std::min<rpc::Clock::duration>(pause, longest_pause));
  } else {
    ready_ = {};
  }
}

}  // namespace rpcroute::transaction

// The fee fields that all transactions of a scan carry, so that only the provider differs between them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace rpcroute::chain {

/// Wei per gas.
struct Fees {
  std::uint64_t max_fee = 0;
  std::uint64_t priority_fee = 0;

  bool operator==(const Fees&) const = default;
};

/// What the user fixed; wei per gas.
struct FeeWishes {
  std::optional<std::uint64_t> max_fee;
  std::optional<std::uint64_t> priority_fee;
};

/// The tip is the wished one, else the median of what providers suggest, else 1 gwei. The cap is the wished one, else
/// twice the median base fee plus the tip: room for six full blocks (EIP-1559 raises the base fee by an eighth a
/// block). Medians, so that one provider's nonsense moves nothing. Throws std::invalid_argument when the wishes
/// contradict each other or the cap lies below the base fee: such a transaction is accepted and then stuck.
/// `base_fees` must not be empty.
Fees choose_fees(std::span<const std::uint64_t> base_fees, std::span<const std::uint64_t> suggested_tips,
                 const FeeWishes& wishes);

/// Wei of a number of gwei. Throws std::invalid_argument, naming `argument`, unless it is in [0, 1e9].
std::uint64_t wei_of_gwei(double gwei, const char* argument);

/// The most that one probe transfer can cost, in wei; saturates.
std::uint64_t worst_case_cost(const Fees& fees);

/// The same of any transaction, in gwei.
double cost_in_gwei(std::uint64_t gas_limit, std::uint64_t max_fee);

/// The upper median. `values` must not be empty.
std::uint64_t median_of(std::span<const std::uint64_t> values);

}  // namespace rpcroute::chain

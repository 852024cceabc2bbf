#include "chain/fees.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "chain/eip1559.hpp"
#include "chain/quantity.hpp"

namespace rpcroute::chain {
namespace {

constexpr std::uint64_t gwei = 1'000'000'000;

std::string in_gwei(std::uint64_t wei) {
  std::ostringstream text;
  text << static_cast<double>(wei) / static_cast<double>(gwei) << " gwei";
  return text.str();
}

}  // namespace

Fees choose_fees(std::span<const std::uint64_t> base_fees, std::span<const std::uint64_t> suggested_tips,
                 const FeeWishes& wishes) {
  const std::uint64_t base_fee = median_of(base_fees);
  Fees fees;
  fees.priority_fee = wishes.priority_fee.value_or(suggested_tips.empty() ? gwei : median_of(suggested_tips));
  if (wishes.max_fee) {
    fees.max_fee = *wishes.max_fee;
    if (!wishes.priority_fee) fees.priority_fee = std::min(fees.priority_fee, fees.max_fee);
  } else {
    fees.max_fee = saturating_add(saturating_multiply(2, base_fee), fees.priority_fee);
  }
  if (fees.priority_fee > fees.max_fee) {
    throw std::invalid_argument("priority_fee_gwei must not be above max_fee_gwei");
  }
  if (fees.max_fee < base_fee) {
    throw std::invalid_argument("max_fee_gwei is below the chain's base fee of " + in_gwei(base_fee));
  }
  return fees;
}

std::uint64_t wei_of_gwei(double amount, const char* argument) {
  if (!(amount >= 0 && amount <= 1e9)) {
    std::ostringstream text;
    text << argument << " must be 0..1e9, got " << amount;
    throw std::invalid_argument(text.str());
  }
  return static_cast<std::uint64_t>(std::llround(amount * static_cast<double>(gwei)));
}

std::uint64_t worst_case_cost(const Fees& fees) {
  return saturating_multiply(transfer_gas, fees.max_fee);
}

double cost_in_gwei(std::uint64_t gas_limit, std::uint64_t max_fee) {
  return static_cast<double>(gas_limit) * (static_cast<double>(max_fee) / static_cast<double>(gwei));
}

std::uint64_t median_of(std::span<const std::uint64_t> values) {
  std::vector<std::uint64_t> sorted(values.begin(), values.end());
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

}  // namespace rpcroute::chain

#include "transaction/conversation/survey.hpp"

#include <span>
#include <stdexcept>
#include <vector>

#include "chain/eip1559.hpp"
#include "chain/receipt.hpp"

namespace rpcroute::transaction {
namespace {

/// Estimates come from a search that may end a little too high: hardhat 2 says 21001 for a plain transfer. Chains that
/// charge for more than execution (Arbitrum, zkSync) say thousands more.
constexpr std::uint64_t estimate_slack = chain::transfer_gas / 100;

/// What the verified providers told.
struct Findings {
  std::vector<std::uint64_t> base_fees;
  std::vector<std::uint64_t> tips;
  std::vector<std::uint64_t> gas;
  bool any_block = false;
};

void add_to(Findings& findings, const std::optional<chain::Block>& latest, std::optional<std::uint64_t> tip,
            std::optional<std::uint64_t> gas) {
  if (latest) findings.any_block = true;
  if (latest && latest->base_fee_per_gas) findings.base_fees.push_back(*latest->base_fee_per_gas);
  if (tip) findings.tips.push_back(*tip);
  if (gas) findings.gas.push_back(*gas);
}

std::optional<chain::Fees> fees_of(const Findings& findings, const chain::FeeWishes& wishes) {
  if (!findings.any_block) return std::nullopt;
  if (findings.base_fees.empty()) {
    throw std::runtime_error("the chain has no base fee; only EIP-1559 transactions are sent");
  }
  if (!findings.gas.empty() && chain::median_of(findings.gas) > chain::transfer_gas + estimate_slack) {
    throw std::runtime_error("a transfer on this chain needs " + std::to_string(chain::median_of(findings.gas)) +
                             " gas; only chains where it needs 21000 are probed");
  }
  return chain::choose_fees(findings.base_fees, findings.tips, wishes);
}

}  // namespace

void survey(Conversation& conversation, Fleet& fleet, const std::string& account, const chain::FeeWishes& wishes,
            rpc::Milliseconds call_timeout, SurveyThen then) {
  const std::vector<std::size_t> whom = fleet.all_asked();
  const std::string party = account.empty() ? "0x" + std::string(40, '0') : account;
  const std::string transfer = R"([{"from":")" + party + R"(","to":")" + party + R"(","value":"0x0"}])";
  auto calls = calls_to(fleet, whom, "eth_chainId", "[]", call_timeout);
  append(calls, calls_to(fleet, whom, "eth_getBlockByNumber", R"(["0x0",false])", call_timeout));
  append(calls, calls_to(fleet, whom, "eth_getBlockByNumber", R"(["latest",false])", call_timeout));
  append(calls, calls_to(fleet, whom, "eth_maxPriorityFeePerGas", "[]", call_timeout));
  append(calls, calls_to(fleet, whom, "eth_estimateGas", transfer, call_timeout));
  conversation.ask_all(std::move(calls), [&fleet, whom, wishes, then](const std::vector<rpc::Answer>& answers) {
    const auto all = std::span(answers);
    const auto to = [&](std::size_t question) { return all.subspan(question * whom.size(), whom.size()); };
    fleet.hear_chain_ids(whom, to(0));
    fleet.hear_genesis(whom, to(1));
    fleet.hear_latest(whom, to(2));
    Findings findings;
    for (std::size_t k = 0; k < whom.size(); ++k) {
      if (!fleet[whom[k]].verified) continue;
      add_to(findings, block_of(to(2)[k]), quantity_of(to(3)[k]), quantity_of(to(4)[k]));
    }
    then(fees_of(findings, wishes));
  });
}

}  // namespace rpcroute::transaction

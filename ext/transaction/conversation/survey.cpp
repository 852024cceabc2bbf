#include "transaction/conversation/survey.hpp"

#include <stdexcept>
#include <vector>

#include "chain/eip1559.hpp"
#include "chain/receipt.hpp"

namespace rpcroute::transaction {
namespace {

constexpr std::size_t questions = 5;

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

void add_to(Findings& findings, const rpc::Answer* answers) {
  if (const auto block = block_of(answers[1])) {
    findings.any_block = true;
    if (block->base_fee_per_gas) findings.base_fees.push_back(*block->base_fee_per_gas);
  }
  if (const auto tip = quantity_of(answers[2])) findings.tips.push_back(*tip);
  if (const auto gas = quantity_of(answers[3])) findings.gas.push_back(*gas);
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
  std::vector<rpc::Call> calls;
  for (const std::size_t i : whom) {
    calls.push_back(call_to(fleet, i, "eth_chainId", "[]", call_timeout));
    calls.push_back(call_to(fleet, i, "eth_getBlockByNumber", R"(["latest",false])", call_timeout));
    calls.push_back(call_to(fleet, i, "eth_maxPriorityFeePerGas", "[]", call_timeout));
    calls.push_back(call_to(fleet, i, "eth_estimateGas", transfer, call_timeout));
    calls.push_back(call_to(fleet, i, "eth_getBlockByNumber", R"(["0x0",false])", call_timeout));
  }
  conversation.ask_all(std::move(calls), [&fleet, whom, wishes, then](const std::vector<rpc::Answer>& answers) {
    std::vector<rpc::Answer> chain_ids;
    std::vector<rpc::Answer> first_blocks;
    std::vector<rpc::Answer> latest_blocks;
    for (std::size_t k = 0; k < whom.size(); ++k) {
      chain_ids.push_back(answers[questions * k]);
      latest_blocks.push_back(answers[questions * k + 1]);
      first_blocks.push_back(answers[questions * k + 4]);
    }
    fleet.hear_chain_ids(whom, chain_ids);
    fleet.hear_genesis(whom, first_blocks);
    fleet.hear_latest(whom, latest_blocks);
    Findings findings;
    for (std::size_t k = 0; k < whom.size(); ++k) {
      if (fleet[whom[k]].verified) add_to(findings, &answers[questions * k]);
    }
    then(fees_of(findings, wishes));
  });
}

}  // namespace rpcroute::transaction

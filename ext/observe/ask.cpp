#include "observe/ask.hpp"

#include <algorithm>
#include <map>

#include "chain/height.hpp"

namespace rpcroute::observe {
namespace {

rpc::Call call_of(const rpc::Provider& provider, const Question& question) {
  rpc::Call call;
  call.provider = provider;
  call.method = question.method;
  call.params = question.params.value_or(chain::default_params(provider.kind, question.method));
  call.timeout = question.timeout;
  call.max_response_bytes = question.max_response_bytes;
  return call;
}

}  // namespace

std::vector<rpc::Answer> ask(rpc::RpcClient& client, std::span<const rpc::Provider> providers, const Question& question,
                             const rpc::Interrupt& interrupt) {
  std::vector<rpc::Answer> answers(providers.size());
  const std::size_t at_once = question.mode == Mode::parallel ? std::max<std::size_t>(providers.size(), 1) : 1;
  for (std::size_t first = 0; first < providers.size(); first += at_once) {
    std::map<rpc::RpcClient::Ticket, std::size_t> asked;
    std::vector<rpc::RpcClient::Ticket> tickets;
    for (std::size_t i = first; i < std::min(first + at_once, providers.size()); ++i) {
      tickets.push_back(client.submit(call_of(providers[i], question)));
      asked.emplace(tickets.back(), i);
    }
    for (auto& [ticket, answer] : client.collect(tickets, rpc::Clock::time_point::max(), interrupt)) {
      answers[asked.at(ticket)] = std::move(answer);
    }
  }
  return answers;
}

}  // namespace rpcroute::observe

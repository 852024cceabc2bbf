#include "observe/observe.hpp"

#include <algorithm>
#include <chrono>
#include <unordered_map>

#include "chain/height.hpp"
#include "rpc/websocket.hpp"

namespace rpcroute::observe {
namespace {

using rpc::Clock;
using rpc::ErrorClass;
using rpc::Failure;
using rpc::RpcClient;

double unix_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// One poll of the round and what is known of it so far.
struct Poll {
  const rpc::Provider* provider;
  Observation observation;
};

std::vector<std::string> methods_of(const Target& target) {
  if (!target.methods.empty()) return target.methods;
  return {std::string(chain::default_height_method(target.provider.kind))};
}

std::vector<Poll> plan(std::span<const Target> targets, const Round& round) {
  std::vector<Poll> polls;
  for (const Target& target : targets) {
    const rpc::Provider& provider = target.provider;
    for (const std::string& method : methods_of(target)) {
      for (int sample = 1; sample <= round.samples; ++sample) {
        Poll poll{&provider, {}};
        poll.observation.provider_id = provider.provider_id;
        poll.observation.chain = provider.chain;
        poll.observation.region = round.region;
        poll.observation.method = method;
        poll.observation.sample = sample;
        polls.push_back(std::move(poll));
      }
    }
  }
  return polls;
}

void fail(Observation& observation, Failure failure) {
  observation.ok = false;
  observation.failure = std::move(failure);
  if (observation.timestamp == 0) observation.timestamp = unix_now();
}

void read_height(const chain::Height& height, Observation& observation) {
  if (height.malformed) {
    fail(observation, {ErrorClass::malformed, "result", height.problem, std::nullopt});
  } else {
    observation.ok = true;
    observation.block_number = height.value;
  }
}

/// What a subscription says of its chain's identity is nothing.
void read_identity(const rpc::HeadAnswer&, Poll&) {}

void read_identity(const rpc::Answer& answer, Poll& poll) {
  const rpc::Provider& provider = *poll.provider;
  Observation& observation = poll.observation;
  if (!observation.ok) return;
  observation.identity = chain::identity_of(observation.method, answer.result);
  const std::string problem = observation.identity.mismatch(provider.chain_id, provider.genesis_hash);
  if (!problem.empty()) fail(observation, {ErrorClass::config, "wrong_chain", problem, std::nullopt});
}

chain::Height height_of(const Poll& poll, const rpc::Answer& answer) {
  return chain::height_of(poll.provider->kind, poll.observation.method, answer.result);
}

chain::Height height_of(const Poll& poll, const rpc::HeadAnswer& answer) {
  return chain::height_of_head(poll.provider->kind, answer.head);
}

template <class Answer>
void record(Answer answer, Poll& poll) {
  Observation& observation = poll.observation;
  observation.timestamp = answer.timestamp;
  observation.latency_ms = answer.latency_ms;
  observation.setup_ms = answer.latency_ms ? answer.setup_ms : std::nullopt;
  observation.total_ms = answer.total_ms;
  observation.http_status = answer.http_status;
  observation.response_bytes = answer.response_bytes;
  if constexpr (requires { answer.first_message_ms; }) observation.first_message_ms = answer.first_message_ms;
  if (answer.failure) return fail(observation, std::move(*answer.failure));
  read_height(height_of(poll, answer), observation);
  read_identity(answer, poll);
}

void record_deadline(const Round& round, Poll& poll) {
  fail(poll.observation,
       {ErrorClass::timeout, "deadline",
        "no answer within the round's " + std::to_string(round.deadline->count()) + " ms", std::nullopt});
}

/// A round under way: the polls, and which call answers which.
class Polling {
 public:
  Polling(RpcClient& client, const Round& round, const rpc::Interrupt& interrupt)
      : client_(client),
        round_(round),
        interrupt_(interrupt),
        until_(round.deadline ? Clock::now() + *round.deadline : Clock::time_point::max()) {}

  ~Polling() {
    for (const RpcClient::Ticket ticket : tickets_) client_.cancel(ticket);
  }

  Polling(const Polling&) = delete;
  Polling& operator=(const Polling&) = delete;

  /// Asks them all at once.
  void run(std::span<Poll> polls) {
    std::vector<Poll*> streams;
    std::unordered_map<RpcClient::Ticket, Poll*> calls;
    for (Poll& poll : polls) {
      if (!is_askable(poll)) continue;
      if (poll.observation.method == websocket_method) {
        streams.push_back(&poll);
      } else {
        tickets_.push_back(client_.submit(call(poll)));
        calls.emplace(tickets_.back(), &poll);
      }
    }
    std::optional<rpc::HeadWatch> watch;
    if (!streams.empty()) watch.emplace(head_requests(streams), client_.environment());
    collect(calls);
    if (watch) collect(*watch, streams);
  }

 private:
  /// False when there is nothing to ask, and the reason is recorded.
  bool is_askable(Poll& poll) const {
    const rpc::Provider& provider = *poll.provider;
    const std::string& method = poll.observation.method;
    if (provider.config_error.empty() && method != websocket_method && !chain::is_read_method(provider.kind, method)) {
      const std::string kind = provider.kind == chain::ChainKind::evm ? "evm" : "solana";
      fail(poll.observation, {ErrorClass::config, "unsupported",
                              "method " + method + " is not among the read methods of " + kind, std::nullopt});
      return false;
    }
    if (Clock::now() < until_) return true;
    record_deadline(round_, poll);
    return false;
  }

  rpc::Call call(const Poll& poll) const {
    const std::string& method = poll.observation.method;
    const auto given = round_.params.find(method);
    rpc::Call call;
    call.provider = *poll.provider;
    call.method = method;
    call.params = given != round_.params.end() ? given->second : chain::default_params(poll.provider->kind, method);
    call.timeout = round_.timeout;
    call.max_response_bytes = round_.max_response_bytes;
    return call;
  }

  std::vector<rpc::HeadRequest> head_requests(const std::vector<Poll*>& polls) const {
    std::vector<rpc::HeadRequest> requests;
    for (const Poll* poll : polls) {
      const chain::HeadSubscription subscription = chain::head_subscription(poll->provider->kind);
      rpc::HeadRequest& request = requests.emplace_back();
      request.provider = *poll->provider;
      request.method = subscription.method;
      request.params = subscription.params;
      request.timeout = round_.ws_timeout;
      request.max_message_bytes = round_.max_response_bytes;
    }
    return requests;
  }

  void collect(std::unordered_map<RpcClient::Ticket, Poll*>& calls) {
    for (auto& [ticket, answer] : client_.collect(tickets_, until_, interrupt_)) {
      record(std::move(answer), *calls.at(ticket));
      calls.erase(ticket);
    }
    for (const auto& [ticket, poll] : calls) {
      client_.cancel(ticket);
      record_deadline(round_, *poll);
    }
    tickets_.clear();
  }

  void collect(rpc::HeadWatch& watch, const std::vector<Poll*>& polls) {
    auto answers = watch.wait(until_, interrupt_);
    for (std::size_t i = 0; i < polls.size(); ++i) {
      if (answers[i]) {
        record(std::move(*answers[i]), *polls[i]);
      } else {
        record_deadline(round_, *polls[i]);
      }
    }
  }

  RpcClient& client_;
  const Round& round_;
  const rpc::Interrupt& interrupt_;
  Clock::time_point until_;
  std::vector<RpcClient::Ticket> tickets_;
};

}  // namespace

std::vector<Observation> observe(RpcClient& client, std::span<const Target> targets, const Round& round,
                                 const rpc::Interrupt& interrupt) {
  std::vector<Poll> polls = plan(targets, round);
  Polling polling(client, round, interrupt);
  if (round.mode == Mode::parallel) {
    polling.run(polls);
  } else {
    for (Poll& poll : polls) polling.run({&poll, 1});
  }
  std::vector<Observation> observations;
  observations.reserve(polls.size());
  for (Poll& poll : polls) observations.push_back(std::move(poll.observation));
  return observations;
}

}  // namespace rpcroute::observe

#include "rpc/client.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "rpc/answer.hpp"
#include "rpc/http.hpp"
#include "rpc/json_rpc.hpp"

namespace rpcroute::rpc {

class RpcClient::Impl {
 public:
  explicit Impl(Environment environment) : environment_(std::move(environment)) {}

  Ticket submit(Call call) {
    if (http_.outstanding() == 0) {  // what is left is the parent's, after fork()
      sent_.clear();
      tickets_.clear();
    }
    const Ticket ticket = ++last_ticket_;
    HttpRequest request;
    request.body = encode_request(ticket, call.method, call.params);
    auto endpoint = resolve_endpoint(call.provider, Transport::http, environment_);
    if (auto* failure = std::get_if<Failure>(&endpoint)) {
      unasked_.emplace(ticket, unasked(std::move(*failure)));
      return ticket;
    }
    Asked asked{std::get<Endpoint>(std::move(endpoint)), call.provider.kind, std::move(call.method), ticket};
    request.url = asked.endpoint.url;
    request.host = asked.endpoint.host;
    request.port = asked.endpoint.port;
    request.headers = asked.endpoint.headers;
    request.certificate_authorities = certificate_authorities(environment_);
    request.timeout = call.timeout;
    request.max_response_bytes = call.max_response_bytes;
    request.never_resend = call.never_resend;
    const HttpClient::Ticket transfer = http_.submit(std::move(request));
    sent_.emplace(ticket, Sent{transfer, std::move(asked)});
    tickets_.emplace(transfer, ticket);
    return ticket;
  }

  std::optional<std::pair<Ticket, Answer>> next(Clock::time_point until, const Interrupt& interrupt) {
    if (unasked_.empty()) http_.wait([&] { return http_.any_finished(); }, until, interrupt);
    if (!unasked_.empty()) {
      auto first = unasked_.extract(unasked_.begin());
      return std::make_pair(first.key(), std::move(first.mapped()));
    }
    auto reply = http_.take();
    if (!reply) return std::nullopt;
    const Ticket ticket = tickets_.at(reply->first);
    return std::make_pair(ticket, read(ticket, std::move(reply->second), interrupt));
  }

  std::vector<std::pair<Ticket, Answer>> collect(std::span<const Ticket> tickets, Clock::time_point until,
                                                 const Interrupt& interrupt) {
    auto first_pending = tickets.begin();
    const auto all_answered = [&] {
      first_pending = std::find_if(first_pending, tickets.end(), [&](Ticket ticket) {
        const auto sent = sent_.find(ticket);
        return sent != sent_.end() && http_.pending(sent->second.transfer);
      });
      return first_pending == tickets.end();
    };
    http_.wait(all_answered, until, interrupt);
    std::vector<std::pair<Ticket, Answer>> answers;
    for (const Ticket ticket : tickets) {
      if (auto answer = answer_of(ticket, interrupt)) answers.emplace_back(ticket, std::move(*answer));
    }
    return answers;
  }

  void cancel(Ticket ticket) {
    unasked_.erase(ticket);
    const auto sent = sent_.find(ticket);
    if (sent == sent_.end()) return;
    http_.cancel(sent->second.transfer);
    tickets_.erase(sent->second.transfer);
    sent_.erase(sent);
  }

  void cancel_all() {
    unasked_.clear();
    sent_.clear();
    tickets_.clear();
    http_.cancel_all();
  }

  std::size_t outstanding() const { return http_.outstanding() + unasked_.size(); }

  const Environment& environment() const { return environment_; }

 private:
  struct Sent {
    HttpClient::Ticket transfer;
    Asked asked;
  };

  std::optional<Answer> answer_of(Ticket ticket, const Interrupt& interrupt) {
    if (auto known = unasked_.extract(ticket)) return std::move(known.mapped());
    const auto sent = sent_.find(ticket);
    if (sent == sent_.end()) return std::nullopt;
    auto reply = http_.take(sent->second.transfer);
    return reply ? std::optional<Answer>(read(ticket, std::move(*reply), interrupt)) : std::nullopt;
  }

  Answer read(Ticket ticket, HttpReply reply, const Interrupt& interrupt) {
    auto sent = sent_.extract(ticket);
    tickets_.erase(sent.mapped().transfer);
    const text::Pulse pulse = [&] {
      if (interrupt && interrupt()) throw Interrupted{};
    };
    return read_answer(std::move(reply), sent.mapped().asked, pulse);
  }

  Environment environment_;
  HttpClient http_;
  Ticket last_ticket_ = 0;  // serves as the JSON-RPC id too: small, and never the same twice on one connection
  std::unordered_map<Ticket, Sent> sent_;
  std::unordered_map<HttpClient::Ticket, Ticket> tickets_;
  std::map<Ticket, Answer> unasked_;
};

RpcClient::RpcClient(Environment environment) : impl_(std::make_unique<Impl>(std::move(environment))) {}
RpcClient::~RpcClient() = default;

RpcClient::Ticket RpcClient::submit(Call call) {
  return impl_->submit(std::move(call));
}

std::optional<std::pair<RpcClient::Ticket, Answer>> RpcClient::next(Clock::time_point until,
                                                                    const Interrupt& interrupt) {
  return impl_->next(until, interrupt);
}

std::vector<std::pair<RpcClient::Ticket, Answer>> RpcClient::collect(std::span<const Ticket> tickets,
                                                                     Clock::time_point until,
                                                                     const Interrupt& interrupt) {
  return impl_->collect(tickets, until, interrupt);
}

void RpcClient::cancel(Ticket ticket) {
  impl_->cancel(ticket);
}

void RpcClient::cancel_all() {
  impl_->cancel_all();
}

std::size_t RpcClient::outstanding() const {
  return impl_->outstanding();
}

const Environment& RpcClient::environment() const {
  return impl_->environment();
}

}  // namespace rpcroute::rpc

#include "rpc/client.hpp"

#include <deque>
#include <unordered_map>

#include "rpc/answer.hpp"
#include "rpc/http.hpp"
#include "rpc/json_rpc.hpp"

namespace rpcroute::rpc {

class RpcClient::Impl {
 public:
  explicit Impl(Environment environment) : environment_(std::move(environment)) {}

  Ticket submit(Call call) {
    if (http_.outstanding() == 0) asked_.clear();  // after fork(): the parent's
    const Ticket ticket = ++last_ticket_;
    HttpRequest request;
    request.body = encode_request(ticket, call.method, call.params);
    auto endpoint = resolve_endpoint(call.provider, Transport::http, environment_);
    if (auto* failure = std::get_if<Failure>(&endpoint)) {
      answered_.emplace_back(ticket, unasked(std::move(*failure)));
      return ticket;
    }
    Asked asked{std::get<Endpoint>(std::move(endpoint)), call.provider.kind, std::move(call.method), ticket};
    request.url = asked.endpoint.url;
    request.headers = asked.endpoint.headers;
    request.certificate_authorities = certificate_authorities(environment_);
    request.timeout = call.timeout;
    request.max_response_bytes = call.max_response_bytes;
    request.never_resend = call.never_resend;
    const HttpClient::Ticket sent = http_.submit(std::move(request));
    asked_.emplace(sent, std::move(asked));
    return ticket;
  }

  std::optional<std::pair<Ticket, Answer>> next(Clock::time_point until, const Interrupt& interrupt) {
    if (answered_.empty()) {
      http_.wait(HttpClient::Until::one, until, interrupt);
      read_one();
    }
    if (answered_.empty()) return std::nullopt;
    auto first = std::move(answered_.front());
    answered_.pop_front();
    return first;
  }

  std::vector<std::pair<Ticket, Answer>> collect(Clock::time_point until, const Interrupt& interrupt) {
    http_.wait(HttpClient::Until::all, until, interrupt);
    while (read_one()) {
    }
    std::vector<std::pair<Ticket, Answer>> answers(std::make_move_iterator(answered_.begin()),
                                                   std::make_move_iterator(answered_.end()));
    answered_.clear();
    return answers;
  }

  void cancel(Ticket ticket) {
    std::erase_if(answered_, [&](const auto& answer) { return answer.first == ticket; });
    for (auto asked = asked_.begin(); asked != asked_.end(); ++asked) {
      if (asked->second.id != ticket) continue;
      http_.cancel(asked->first);
      asked_.erase(asked);
      return;
    }
  }

  void cancel_all() {
    answered_.clear();
    asked_.clear();
    http_.cancel_all();
  }

  std::size_t outstanding() const { return http_.outstanding() + answered_.size(); }

 private:
  bool read_one() {
    auto reply = http_.take();
    if (!reply) return false;
    const auto asked = asked_.find(reply->first);
    answered_.emplace_back(asked->second.id, read_answer(std::move(reply->second), asked->second));
    asked_.erase(asked);
    return true;
  }

  Environment environment_;
  HttpClient http_;
  Ticket last_ticket_ = 0;  // serves as the JSON-RPC id too: small, and never the same twice on one connection
  std::unordered_map<HttpClient::Ticket, Asked> asked_;
  std::deque<std::pair<Ticket, Answer>> answered_;
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

std::vector<std::pair<RpcClient::Ticket, Answer>> RpcClient::collect(Clock::time_point until,
                                                                     const Interrupt& interrupt) {
  return impl_->collect(until, interrupt);
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

}  // namespace rpcroute::rpc

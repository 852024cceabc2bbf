// A provider as its clients meet it: one port that speaks JSON-RPC over HTTP and WebSocket, with its latency, its
// errors and its faults.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "fault.hpp"
#include "http.hpp"
#include "json_rpc.hpp"
#include "latency.hpp"
#include "node.hpp"

namespace rpcroute::devnet {

/// A connection that can be sent heads.
class Subscriber {
 public:
  virtual ~Subscriber() = default;
  virtual void send_head(std::uint64_t height) = 0;
  virtual void cut() = 0;

  // What the methods of these names answer.
  virtual MethodResult subscribe() = 0;
  virtual MethodResult unsubscribe() = 0;
};

class Endpoint : public HttpHandler {
 public:
  Endpoint(World& world, const ProviderConfig& config, unsigned short port, boost::asio::ssl::context& tls);

  Node& node() { return node_; }
  const std::string& provider_id() const { return node_.config().provider_id; }
  Kind kind() const { return node_.config().kind; }
  std::string url() const;
  std::string ws_url() const;

  Reply answer(const HttpRequest& request) override;
  bool can_upgrade() const override { return !node_.config().tls; }
  void upgrade(tcp::socket socket, HttpRequest request, Clock::time_point arrival) override;

  /// The JSON-RPC answer to a WebSocket message, as a reply whose bytes are the message; stalls and resets included.
  Reply answer_message(std::string_view text, Subscriber& subscriber);

  /// The notification of a height, for a subscription of that id.
  std::string notification(std::uint64_t height, std::uint64_t subscription) const;

  void set_latency(const LatencyConfig& latency) { latency_.set(latency); }
  void set_error_rate(double rate) { error_rate_ = rate; }
  void set_faults(std::vector<Fault> faults);

  /// Requests by method; "ws" counts upgrades. Every call of a batch counts.
  const std::map<std::string, std::uint64_t>& counts() const { return counts_; }
  void reset_counts() { counts_.clear(); }

 private:
  struct Call {
    std::string id;  ///< JSON text
    std::string method;
    const Json* params;
  };
  struct Request {
    rapidjson::Document document;
    std::vector<Call> calls;
    bool is_batch = false;
    bool is_valid = true;
  };

  Request read(std::string_view body);
  Fault* strike(const std::vector<Call>& calls, std::initializer_list<FaultStage> stages);
  std::string run(const Request& request, const Fault* fault, std::optional<double> latency_ms, Subscriber* subscriber);
  MethodResult run(const Call& call, const Fault* fault, Subscriber* subscriber);
  Reply random_error();
  Reply reply(const Request& request, Fault* fault, std::chrono::nanoseconds latency, Subscriber* subscriber);

  Node node_;
  Latency latency_;
  Random errors_;
  double error_rate_;
  std::vector<Fault> faults_;
  std::map<std::string, std::uint64_t> counts_;
  std::vector<std::weak_ptr<Subscriber>> sockets_;
  HttpListener listener_;
};

}  // namespace rpcroute::devnet

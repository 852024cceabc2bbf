// The control port: plain HTTP with JSON, for tests.
//
//   GET  /head                     number, hash, slot, time, base_fee_gwei
//   GET  /accounts                 [{address, private_key}] of the unlocked accounts
//   GET  /providers                [{provider_id, kind, url, ws_url, lag, view}]
//   POST /providers/<id>           any of: latency_ms (fixed) · latency (as in the fleet file) · lag (fixed blocks;
//                                  null: random again) · error_rate · propagation_ms (fixed) · fault (one, or null) ·
//                                  faults (array)
//   GET  /counts                   {provider_id: {method: calls}}
//   POST /counts/reset
//   GET  /truth/transactions       see truth.hpp
//   GET  /truth/heights?since=t    t in Unix seconds
//   POST /chain                    base_fee_gwei
//   POST /mine                     {"slots": n} slots at once (1)
//   POST /reorg                    {"depth": n} blocks become empty ones of other hashes (1)
//   POST /drop                     {"hash": "0x…"} leaves every pool
//   POST /shutdown
//
// Errors are {"error": text} with status 400 or 404.
#pragma once

#include <functional>

#include "fleet.hpp"

namespace rpcroute::devnet {

class Control : public HttpHandler {
 public:
  Control(Fleet& fleet, unsigned short port, std::function<void()> shut_down);

  unsigned short port() const { return listener_.port(); }

  Reply answer(const HttpRequest& request) override;
  bool can_upgrade() const override { return false; }
  void upgrade(tcp::socket, HttpRequest, Clock::time_point) override {}

  /// What every provider is called and where it is, as GET /providers has it.
  std::string providers() const;

 private:
  std::string get(std::string_view path, std::string_view query) const;
  std::string post(std::string_view path, const Json& body);
  std::string head() const;
  std::string accounts() const;
  std::string counts() const;
  void change(Endpoint& endpoint, const Json& settings);
  void mine(const Json& body);

  Fleet& fleet_;
  std::function<void()> shut_down_;
  HttpListener listener_;
};

}  // namespace rpcroute::devnet

// One HTTP request in flight: its libcurl options, its byte caps, its clocks.
#pragma once

#include <curl/curl.h>

#include <cstdint>
#include <memory>
#include <string>

#include "rpc/http.hpp"

namespace rpcroute::rpc {

struct CurlEasyCleanup {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
using CurlEasy = std::unique_ptr<CURL, CurlEasyCleanup>;

struct CurlListCleanup {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using CurlList = std::unique_ptr<curl_slist, CurlListCleanup>;

/// Who opens and closes the sockets of a transfer, so that they can be counted.
struct SocketCallbacks {
  void* owner;
  curl_opensocket_callback open;
  curl_closesocket_callback close;
};

class Transfer {
 public:
  Transfer(std::uint64_t ticket, HttpRequest request);
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  std::uint64_t ticket() const { return ticket_; }
  CURL* easy() const { return easy_.get(); }
  bool host_is_numeric() const { return host_is_numeric_; }
  Clock::time_point deadline() const { return deadline_; }

  /// Sets the handle up, a recycled one or a new one, and starts the clock.
  void start(CurlEasy easy, const SocketCallbacks& sockets);

  /// Adds to the time for which a ready socket waited for us while the connection was being set up.
  void add_setup_queueing(Clock::duration waited);

  /// The reply after libcurl's verdict; `seen` is when its socket was seen to be readable.
  HttpReply finish(CURLcode code, Clock::time_point seen);

  /// The reply of a transfer that used up its time.
  HttpReply time_out(Clock::time_point now);

  CurlEasy release_handle() { return std::move(easy_); }

 private:
  static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self);
  static int on_request(void* self, char*, char*, int, int);

  void set_request_options();
  void set_policy_options();
  void read_status();

  std::uint64_t ticket_;
  HttpRequest request_;
  CurlEasy easy_;
  CurlList header_list_;
  HttpReply reply_;
  bool host_is_numeric_ = false;
  Clock::time_point begun_;
  Clock::time_point deadline_;
  bool request_left_ = false;
  Clock::duration setup_queueing_{0};
  std::size_t header_bytes_ = 0;
  enum class Excess { none, header, body } excess_ = Excess::none;
};

}  // namespace rpcroute::rpc

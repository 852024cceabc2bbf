// One HTTP request in flight: its libcurl options, its byte caps, its clocks.
#pragma once

#include <curl/curl.h>

#include <cstdint>
#include <memory>
#include <string>

#include "rpc/decoder.hpp"
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

/// Who opens and closes the sockets of transfers, so that they can be counted.
class Sockets {
 public:
  virtual curl_socket_t open(const curl_sockaddr& address) = 0;
  virtual int close(curl_socket_t socket) = 0;

 protected:
  ~Sockets() = default;
};

class Transfer {
 public:
  Transfer(std::uint64_t ticket, HttpRequest request);
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  std::uint64_t ticket() const { return ticket_; }
  CURL* easy() const { return easy_.get(); }
  Clock::time_point deadline() const { return deadline_; }

  /// How many descriptors it may still open: while it connects a host name takes the resolver's socket pair and, with
  /// two addresses, two sockets.
  std::size_t descriptors_to_come() const;

  /// Sets the handle up, a recycled one or a new one, and starts the clock. `sockets` outlives the handle's
  /// connections.
  void start(CurlEasy easy, Sockets& sockets);

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
  static curl_socket_t on_open(void* self, curlsocktype purpose, curl_sockaddr* address);
  static int on_close(void* sockets, curl_socket_t socket);
  static int on_request(void* self, char*, char*, int, int);

  void set_request_options();
  void set_policy_options();
  void read_status();
  /// Whether a header line was longer than libcurl takes.
  bool is_line_too_long(CURLcode code) const;

  std::uint64_t ticket_;
  HttpRequest request_;
  CurlEasy easy_;
  CurlList header_list_;
  HttpReply reply_;
  Decoder decoder_;
  bool host_is_numeric_ = false;
  Sockets* sockets_ = nullptr;
  std::size_t opened_ = 0;
  Clock::time_point begun_;
  Clock::time_point deadline_;
  bool request_left_ = false;
  Clock::duration setup_queueing_{0};
  std::size_t header_bytes_ = 0;
  enum class Excess { none, header, body } excess_ = Excess::none;
};

}  // namespace rpcroute::rpc

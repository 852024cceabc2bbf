// One HTTP request in flight: its libcurl options, its byte caps, its clocks.
#pragma once

#include <curl/curl.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "rpc/decoder.hpp"
#include "rpc/http.hpp"
#include "rpc/kept_exception.hpp"
#include "rpc/resolver.hpp"

namespace rpcroute::rpc {

struct CurlEasyCleanup {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
using CurlEasy = std::unique_ptr<CURL, CurlEasyCleanup>;

struct CurlListCleanup {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using CurlList = std::unique_ptr<curl_slist, CurlListCleanup>;

/// One end of a connection, as Sockets knows it.
std::string connection_end(const char* ip, int port);

/// Who opens and closes the sockets of transfers, so that they can be counted.
class Sockets {
 public:
  virtual curl_socket_t open(const curl_sockaddr& address) = 0;
  virtual int close(curl_socket_t socket) noexcept = 0;

  /// Notes that answers on this one are told apart by their streams (HTTP/2).
  virtual void note_streams(curl_socket_t socket) noexcept = 0;

  /// Whether bytes wait on the connection between these ends, ours first, although nothing was asked on it.
  virtual bool holds_unasked_bytes(const std::string& ends) = 0;

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

  /// How many descriptors it may still open: a host name takes the resolver's files and, with two addresses, two
  /// sockets; TLS takes the file of authorities.
  std::size_t descriptors_to_come() const;

  /// Sets the handle up, a recycled one or a new one, and starts the clock. `sockets` outlives the handle's
  /// connections.
  void start(CurlEasy easy, Sockets& sockets);

  /// Throws what a callback of the transfer threw.
  void rethrow() { thrown_.rethrow(); }

  /// Whether libcurl, having no warm connection, stopped at the addresses of the host; told once.
  bool wants_addresses() { return std::exchange(wants_addresses_, false); }

  const HttpRequest& request() const { return request_; }

  /// Whether it stopped before anything left, since its kept connection held bytes that nobody had asked for; told
  /// once, and its next start is on a new connection.
  bool wants_new_connection();

  /// Keeps the look-up that is to find them.
  void await(LookUp look_up);
  bool is_awaiting() const { return look_up_ != nullptr; }

  /// Sets the handle up for another start with the addresses that were found; false when none of them can be used.
  bool use(const Resolution& resolution);

  /// Whether any byte of the request can have reached the server.
  bool request_left() const { return request_left_; }

  /// Whether it failed, before anything left, for want of a descriptor.
  bool lacked_descriptor(CURLcode code) const;

  /// Gives the request back to be started anew.
  HttpRequest take_request() { return std::move(request_); }

  /// Adds to the time for which a ready socket waited for us while the connection was being set up.
  void add_setup_queueing(Clock::duration waited);

  /// The reply after libcurl's verdict; `seen` is when its socket was seen to be readable.
  HttpReply finish(CURLcode code, Clock::time_point seen);

  /// The reply of a transfer that libcurl has no part in.
  HttpReply fail(Failure failure, Clock::time_point at);

  /// The reply of a transfer that used up its time.
  HttpReply time_out(Clock::time_point now);

  CurlEasy release_handle() { return std::move(easy_); }

 private:
  static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self);
  static curl_socket_t on_open(void* self, curlsocktype purpose, curl_sockaddr* address);
  static int on_close(void* sockets, curl_socket_t socket);
  static int on_request(void* self, char* peer_ip, char* own_ip, int peer_port, int own_port);
  static int on_look_up(void*, void*, void* self);

  void set_request_options();
  void set_policy_options();
  void set_addresses(const std::string& entry);
  void read_header(std::string_view line);
  void read_status();
  void note_version();
  void conclude(Clock::time_point at);
  double setup_ms() const;
  /// Whether a header line was longer than libcurl takes.
  bool is_line_too_long(CURLcode code) const;

  std::uint64_t ticket_;
  HttpRequest request_;
  CurlEasy easy_;
  CurlList header_list_;
  HttpReply reply_;
  Decoder decoder_;
  bool needs_look_up_ = false;
  bool is_secure_ = false;
  bool wants_addresses_ = false;
  int look_ups_ = 0;
  LookUp look_up_;
  Clock::time_point look_up_begun_;
  Clock::duration look_up_time_{0};
  CurlList addresses_;
  bool lacked_descriptor_ = false;
  bool took_last_descriptor_ = false;
  Sockets* sockets_ = nullptr;
  std::size_t opened_ = 0;
  Clock::time_point begun_;
  Clock::time_point deadline_;
  bool request_left_ = false;
  bool found_unasked_bytes_ = false;
  Clock::duration setup_queueing_{0};
  std::size_t header_bytes_ = 0;
  enum class Excess { none, header, body } excess_ = Excess::none;
  KeptException thrown_;
};

}  // namespace rpcroute::rpc

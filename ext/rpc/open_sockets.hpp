// The sockets of one client's connections, kept ones too.
#pragma once

#include <string>
#include <unordered_map>

#include "rpc/transfer.hpp"

namespace rpcroute::rpc {

class OpenSockets final : public Sockets {
 public:
  curl_socket_t open(const curl_sockaddr& address) override;
  int close(curl_socket_t socket) noexcept override;
  void note_streams(curl_socket_t socket) noexcept override;
  bool holds_unasked_bytes(const std::string& ends) override;

  std::size_t size() const { return sockets_.size(); }
  bool empty() const { return sockets_.empty(); }

  /// Closes them all behind libcurl's back.
  void abandon();

 private:
  struct Known {
    bool has_streams = false;
    std::string ends;  ///< empty until they were looked for
  };

  std::unordered_map<int, Known> sockets_;
  std::unordered_map<std::string, int> by_ends_;
};

}  // namespace rpcroute::rpc

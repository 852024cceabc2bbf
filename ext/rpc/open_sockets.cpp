#include "rpc/open_sockets.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace rpcroute::rpc {
namespace {

using NameOf = int (*)(int, sockaddr*, socklen_t*);

/// One end of a socket; empty while it has none.
std::string end_of(int socket, NameOf name_of) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  if (name_of(socket, reinterpret_cast<sockaddr*>(&storage), &length) != 0) return {};
  const bool is_v6 = storage.ss_family == AF_INET6;
  const auto& v4 = reinterpret_cast<const sockaddr_in&>(storage);
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(storage);
  char ip[INET6_ADDRSTRLEN];
  const void* const bytes = is_v6 ? static_cast<const void*>(&v6.sin6_addr) : &v4.sin_addr;
  if (inet_ntop(storage.ss_family, bytes, ip, sizeof ip) == nullptr) return {};
  return connection_end(ip, ntohs(is_v6 ? v6.sin6_port : v4.sin_port));
}

}  // namespace

std::string connection_end(const char* ip, int port) {
  return std::string(ip) + " " + std::to_string(port) + " ";
}

curl_socket_t OpenSockets::open(const curl_sockaddr& address) {
  const int socket = ::socket(address.family, address.socktype | SOCK_CLOEXEC, address.protocol);
  if (socket < 0) return CURL_SOCKET_BAD;
  try {
    sockets_.try_emplace(socket);
  } catch (...) {
    ::close(socket);
    throw;
  }
  return socket;
}

int OpenSockets::close(curl_socket_t socket) noexcept {
  if (const auto known = sockets_.find(socket); known != sockets_.end()) {
    by_ends_.erase(known->second.ends);
    sockets_.erase(known);
  }
  return ::close(socket);
}

void OpenSockets::note_streams(curl_socket_t socket) noexcept {
  if (const auto known = sockets_.find(socket); known != sockets_.end()) known->second.has_streams = true;
}

bool OpenSockets::holds_unasked_bytes(const std::string& ends) {
  if (!by_ends_.contains(ends)) {
    for (auto& [socket, known] : sockets_) {
      if (!known.ends.empty()) continue;
      const std::string peer = end_of(socket, ::getpeername);
      if (peer.empty()) continue;
      const std::string both = end_of(socket, ::getsockname) + peer;
      by_ends_[both] = socket;
      known.ends = both;
    }
  }
  const auto found = by_ends_.find(ends);
  if (found == by_ends_.end() || sockets_.at(found->second).has_streams) return false;
  char byte = 0;
  return ::recv(found->second, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

void OpenSockets::abandon() {
  for (const auto& [socket, known] : sockets_) ::close(socket);
}

}  // namespace rpcroute::rpc

#include "rpc/resolver.hpp"

#include <netdb.h>
#include <sys/socket.h>

#include <boost/asio/post.hpp>
#include <cstring>
#include <thread>

namespace rpcroute::rpc {
namespace {

using boost::asio::ip::tcp;

TcpEndpoints look_up(const std::string& host, const std::string& port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG;
  addrinfo* found = nullptr;
  TcpEndpoints endpoints;
  if (getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) return endpoints;
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
    tcp::endpoint endpoint;
    if (address->ai_addrlen > endpoint.capacity()) continue;
    std::memcpy(endpoint.data(), address->ai_addr, address->ai_addrlen);
    endpoint.resize(address->ai_addrlen);
    endpoints.push_back(endpoint);
  }
  freeaddrinfo(found);
  return endpoints;
}

}  // namespace

std::optional<tcp::endpoint> numeric_endpoint(const std::string& host, const std::string& port) {
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address(host, error);
  if (error) return std::nullopt;
  return tcp::endpoint(address, static_cast<unsigned short>(std::stoul(port)));
}

void resolve_detached(const std::shared_ptr<boost::asio::io_context>& io, const std::string& host,
                      const std::string& port, std::function<void(TcpEndpoints)> done) {
  std::thread([io, host, port, done = std::move(done)]() mutable {
    TcpEndpoints endpoints = look_up(host, port);
    boost::asio::post(*io, [done = std::move(done), endpoints = std::move(endpoints)] { done(endpoints); });
  }).detach();
}

}  // namespace rpcroute::rpc

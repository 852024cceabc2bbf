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

void resolve_detached(const std::shared_ptr<boost::asio::io_context>& io, const std::string& host,
                      const std::string& port, std::function<void(TcpEndpoints)> done) {
  boost::system::error_code not_numeric;
  const auto address = boost::asio::ip::make_address(host, not_numeric);
  if (!not_numeric) {
    const tcp::endpoint endpoint(address, static_cast<unsigned short>(std::stoul(port)));
    boost::asio::post(*io, [done = std::move(done), endpoint] { done({endpoint}); });
    return;
  }
  std::thread([io, host, port, done = std::move(done)]() mutable {
    TcpEndpoints endpoints = look_up(host, port);
    boost::asio::post(*io, [done = std::move(done), endpoints = std::move(endpoints)] { done(endpoints); });
  }).detach();
}

}  // namespace rpcroute::rpc

// Host names to addresses without ever waiting for a resolver that hangs.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rpcroute::rpc {

using TcpEndpoints = std::vector<boost::asio::ip::tcp::endpoint>;

/// The address that `host` is, or nullopt when it is a name.
std::optional<boost::asio::ip::tcp::endpoint> numeric_endpoint(const std::string& host, const std::string& port);

/// Calls `done` from `io` with the addresses of a name, none when it does not resolve. getaddrinfo cannot be cancelled,
/// and Asio's own resolver joins its thread on destruction; here a detached thread is left behind instead, which keeps
/// `io` alive but calls nothing once it has stopped running.
void resolve_detached(const std::shared_ptr<boost::asio::io_context>& io, const std::string& host,
                      const std::string& port, std::function<void(TcpEndpoints)> done);

}  // namespace rpcroute::rpc

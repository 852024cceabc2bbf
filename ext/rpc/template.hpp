// `${RPCROUTE_NAME}` in URLs and header values.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "rpc/endpoint.hpp"

namespace rpcroute::rpc {

/// A template with its variables filled in, and where in `text` what was filled in stands.
struct Expansion {
  struct Span {
    std::size_t begin;
    std::size_t end;
  };
  std::string text;
  std::vector<Span> filled;

  bool filled_within(std::size_t begin, std::size_t end) const;
};

/// Throws ConfigError. Values are taken as they are: a `${…}` inside a value is not expanded again.
Expansion expand(std::string_view text, const Environment& environment);

/// What is wrong with a provider's row, in words that hold no secret.
struct ConfigError {
  std::string message;
};

}  // namespace rpcroute::rpc

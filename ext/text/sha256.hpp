// SHA-256, by OpenSSL.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace rpcroute::text {

/// 64 lower-case hexadecimal digits. Throws std::runtime_error when OpenSSL cannot compute it.
std::string sha256_hex(std::span<const std::byte> bytes);

}  // namespace rpcroute::text

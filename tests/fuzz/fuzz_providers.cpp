// Any text is a list of providers or is refused in words; any request is one that a server can read.
//
//   cmake --preset fuzz && cmake --build build/fuzz --target fuzz_providers
//   build/fuzz/tests/fuzz_providers -max_len=4096 corpus
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "rpc/json_rpc.hpp"
#include "rpc/provider.hpp"
#include "text/json.hpp"

namespace {

using namespace rpcroute;

void read_providers(std::string_view text) {
  try {
    for (const rpc::Provider& provider : rpc::parse_providers(text)) {
      if (provider.provider_id.empty() || provider.block_time_ms <= 0 || provider.head_max_ahead < 0) std::abort();
    }
  } catch (const std::invalid_argument&) {
  }
}

void write_request(std::string_view params) {
  try {
    if (text::json_problem(rpc::encode_request(7, "eth_call", params))) std::abort();
  } catch (const std::invalid_argument&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  read_providers(bytes);
  write_request(bytes);
  return 0;
}

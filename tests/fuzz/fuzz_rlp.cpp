// Any bytes are either no RLP or encode to themselves again, and signed transactions the same.
//
//   cmake --preset fuzz && cmake --build build/fuzz --target fuzz_rlp
//   build/fuzz/tests/fuzz_rlp corpus
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "chain/eip1559.hpp"
#include "chain/rlp.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rpcroute;
  const text::Bytes bytes(data, data + size);
  if (const auto item = chain::decode_rlp(bytes); item && chain::encode_rlp(*item) != bytes) std::abort();
  if (const auto sent = chain::read_signed_payload(bytes);
      sent && chain::signed_payload(sent->first, sent->second) != bytes)
    std::abort();
  return 0;
}

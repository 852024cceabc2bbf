#include "rlp.hpp"

#include <iterator>

namespace rpcroute::devnet {
namespace {

/// Deeper than any transaction nests: an access list is three levels down.
constexpr int deepest = 8;

void append_header(Bytes& out, std::size_t length, std::uint8_t base) {
  if (length <= 55) {
    out.push_back(static_cast<std::uint8_t>(base + length));
    return;
  }
  const auto size = big_endian(Wei{length});
  out.push_back(static_cast<std::uint8_t>(base + 55 + size.size()));
  out.insert(out.end(), size.begin(), size.end());
}

void append(Bytes& out, const Rlp& item) {
  if (!item.is_list && item.bytes.size() == 1 && item.bytes[0] < 0x80) {
    out.push_back(item.bytes[0]);
    return;
  }
  Bytes payload;
  for (const auto& part : item.items) append(payload, part);
  const Bytes& content = item.is_list ? payload : item.bytes;
  append_header(out, content.size(), item.is_list ? 0xc0 : 0x80);
  out.insert(out.end(), content.begin(), content.end());
}

/// Takes the length that follows a long header off the input; nullopt unless it is the only way to write it.
std::optional<std::size_t> take_length(ByteView& input, std::size_t size) {
  if (size > sizeof(std::uint32_t) || input.size() < size || input[0] == 0) return std::nullopt;
  std::size_t length = 0;
  for (const auto byte : input.first(size)) length = length << 8 | byte;
  input = input.subspan(size);
  if (length <= 55) return std::nullopt;
  return length;
}

std::optional<Rlp> take_item(ByteView& input, int depth);

std::optional<Rlp> list_of(ByteView payload, int depth) {
  Rlp list{true, {}, {}};
  while (!payload.empty()) {
    auto part = take_item(payload, depth + 1);
    if (!part) return std::nullopt;
    list.items.push_back(std::move(*part));
  }
  return list;
}

std::optional<Rlp> take_item(ByteView& input, int depth) {
  if (input.empty() || depth > deepest) return std::nullopt;
  const std::uint8_t header = input[0];
  if (header < 0x80) {
    const auto item = Rlp::string(input.first(1));
    input = input.subspan(1);
    return item;
  }
  input = input.subspan(1);
  const bool is_list = header >= 0xc0;
  const unsigned code = header - (is_list ? 0xc0u : 0x80u);
  const auto length = code <= 55 ? std::optional<std::size_t>(code) : take_length(input, code - 55);
  if (!length || *length > input.size()) return std::nullopt;
  const auto payload = input.first(*length);
  input = input.subspan(*length);
  if (is_list) return list_of(payload, depth);
  if (payload.size() == 1 && payload[0] < 0x80) return std::nullopt;
  return Rlp::string(payload);
}

}  // namespace

Bytes rlp_encode(const Rlp& item) {
  Bytes out;
  append(out, item);
  return out;
}

std::optional<Rlp> rlp_decode(ByteView input) {
  auto item = take_item(input, 0);
  if (!input.empty()) return std::nullopt;
  return item;
}

}  // namespace rpcroute::devnet

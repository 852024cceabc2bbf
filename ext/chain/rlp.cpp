#include "chain/rlp.hpp"

#include "text/hex.hpp"

namespace rpcroute::chain {
namespace {

constexpr std::uint8_t string_offset = 0x80;
constexpr std::uint8_t list_offset = 0xc0;
constexpr std::size_t longest_short = 55;
constexpr int deepest = 64;

void append_header(text::Bytes& out, std::uint8_t offset, std::size_t size) {
  if (size <= longest_short) {
    out.push_back(static_cast<std::uint8_t>(offset + size));
    return;
  }
  std::uint8_t digits = 0;
  for (std::size_t rest = size; rest != 0; rest >>= 8) ++digits;
  out.push_back(static_cast<std::uint8_t>(offset + longest_short + digits));
  for (std::uint8_t i = digits; i > 0; --i) out.push_back(static_cast<std::uint8_t>(size >> (8 * (i - 1))));
}

/// What a prefix announces: a string or a list, and where its content lies.
struct Header {
  bool is_list;
  std::size_t start;
  std::size_t size;
};

/// The length that follows a long prefix; nullopt when it is cut off, padded, or would have fitted the prefix.
std::optional<std::size_t> long_size(text::BytesView digits) {
  if (digits.size() > sizeof(std::size_t) || digits.front() == 0) return std::nullopt;
  std::size_t size = 0;
  for (const std::uint8_t digit : digits) size = size << 8 | digit;
  if (size <= longest_short) return std::nullopt;
  return size;
}

std::optional<Header> read_header(text::BytesView bytes) {
  if (bytes.empty()) return std::nullopt;
  const std::uint8_t prefix = bytes.front();
  if (prefix < string_offset) return Header{false, 0, 1};
  const bool is_list = prefix >= list_offset;
  const std::size_t code = prefix - (is_list ? list_offset : string_offset);
  Header header{is_list, 1, code};
  if (code > longest_short) {
    const std::size_t digits = code - longest_short;
    if (bytes.size() <= digits) return std::nullopt;
    const auto size = long_size(bytes.subspan(1, digits));
    if (!size) return std::nullopt;
    header = {is_list, 1 + digits, *size};
  }
  if (bytes.size() - header.start < header.size) return std::nullopt;
  const bool needless_prefix = !is_list && code == 1 && bytes[1] < string_offset;
  if (needless_prefix) return std::nullopt;
  return header;
}

/// Takes one item off the front of `bytes`.
std::optional<RlpItem> take_item(text::BytesView& bytes, int depth) {
  const auto header = read_header(bytes);
  if (!header || depth > deepest) return std::nullopt;
  text::BytesView content = bytes.subspan(header->start, header->size);
  bytes = bytes.subspan(header->start + header->size);
  RlpItem item;
  item.is_list = header->is_list;
  if (!item.is_list) {
    item.bytes.assign(content.begin(), content.end());
    return item;
  }
  while (!content.empty()) {
    auto inner = take_item(content, depth + 1);
    if (!inner) return std::nullopt;
    item.items.push_back(std::move(*inner));
  }
  return item;
}

}  // namespace

void append_rlp(text::Bytes& out, text::BytesView bytes) {
  const bool is_its_own_encoding = bytes.size() == 1 && bytes.front() < string_offset;
  if (!is_its_own_encoding) append_header(out, string_offset, bytes.size());
  out.insert(out.end(), bytes.begin(), bytes.end());
}

void append_rlp_list(text::Bytes& out, text::BytesView payload) {
  append_header(out, list_offset, payload.size());
  out.insert(out.end(), payload.begin(), payload.end());
}

text::Bytes encode_rlp(const RlpItem& item) {
  text::Bytes out;
  if (!item.is_list) {
    append_rlp(out, item.bytes);
    return out;
  }
  text::Bytes payload;
  for (const RlpItem& inner : item.items) {
    const text::Bytes encoded = encode_rlp(inner);
    payload.insert(payload.end(), encoded.begin(), encoded.end());
  }
  append_rlp_list(out, payload);
  return out;
}

std::optional<RlpItem> decode_rlp(text::BytesView bytes) {
  auto item = take_item(bytes, 0);
  if (!item || !bytes.empty()) return std::nullopt;
  return item;
}

}  // namespace rpcroute::chain

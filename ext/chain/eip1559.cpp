#include "chain/eip1559.hpp"

#include <algorithm>

#include "chain/rlp.hpp"
#include "text/hex.hpp"

namespace rpcroute::chain {
namespace {

constexpr std::uint8_t transaction_type = 2;
constexpr std::size_t signed_fields = 12;

void append_integer(text::Bytes& out, const Uint256& value) {
  append_rlp(out, value.minimal());
}

void append_access_list(text::Bytes& out, const std::vector<AccessListEntry>& access_list) {
  text::Bytes entries;
  for (const AccessListEntry& entry : access_list) {
    text::Bytes keys;
    for (const Hash& key : entry.storage_keys) append_rlp(keys, key);
    text::Bytes fields;
    append_rlp(fields, entry.address);
    append_rlp_list(fields, keys);
    append_rlp_list(entries, fields);
  }
  append_rlp_list(out, entries);
}

text::Bytes fields_of(const Eip1559Transaction& transaction) {
  text::Bytes fields;
  append_integer(fields, transaction.chain_id);
  append_integer(fields, transaction.nonce);
  append_integer(fields, transaction.max_priority_fee_per_gas);
  append_integer(fields, transaction.max_fee_per_gas);
  append_integer(fields, transaction.gas_limit);
  append_rlp(fields, transaction.to ? text::BytesView(*transaction.to) : text::BytesView());
  append_integer(fields, transaction.value);
  append_rlp(fields, transaction.data);
  append_access_list(fields, transaction.access_list);
  return fields;
}

text::Bytes typed_list(text::BytesView fields) {
  text::Bytes out{transaction_type};
  append_rlp_list(out, fields);
  return out;
}

template <std::size_t n>
std::optional<std::array<std::uint8_t, n>> exactly(const RlpItem& item) {
  if (item.is_list || item.bytes.size() != n) return std::nullopt;
  std::array<std::uint8_t, n> out;
  std::copy(item.bytes.begin(), item.bytes.end(), out.begin());
  return out;
}

std::optional<Uint256> integer(const RlpItem& item) {
  const text::Bytes& digits = item.bytes;
  if (item.is_list || digits.size() > 32 || (!digits.empty() && digits.front() == 0)) return std::nullopt;
  Uint256 value;
  std::copy(digits.begin(), digits.end(), value.bytes.end() - static_cast<std::ptrdiff_t>(digits.size()));
  return value;
}

std::optional<std::vector<AccessListEntry>> access_list(const RlpItem& list) {
  if (!list.is_list) return std::nullopt;
  std::vector<AccessListEntry> entries;
  for (const RlpItem& item : list.items) {
    if (item.items.size() != 2 || !item.items[1].is_list) return std::nullopt;
    const auto address = exactly<20>(item.items[0]);
    if (!address) return std::nullopt;
    AccessListEntry entry{*address, {}};
    for (const RlpItem& storage_key : item.items[1].items) {
      const auto key = exactly<32>(storage_key);
      if (!key) return std::nullopt;
      entry.storage_keys.push_back(*key);
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

/// Reads the integers of a transaction and remembers whether each was one and fitted.
class IntegerReader {
 public:
  Uint256 wide(const RlpItem& item) {
    const auto value = integer(item);
    good = good && value;
    return value.value_or(Uint256());
  }

  std::uint64_t narrow(const RlpItem& item) {
    const Uint256 value = wide(item);
    good = good && value.minimal().size() <= 8;
    return value.saturated();
  }

  bool good = true;
};

}  // namespace

text::Bytes signing_payload(const Eip1559Transaction& transaction) {
  return typed_list(fields_of(transaction));
}

text::Bytes signed_payload(const Eip1559Transaction& transaction, const Signature& signature) {
  text::Bytes fields = fields_of(transaction);
  append_integer(fields, std::uint64_t{signature.y_parity});
  append_integer(fields, signature.r);
  append_integer(fields, signature.s);
  return typed_list(fields);
}

std::optional<std::pair<Eip1559Transaction, Signature>> read_signed_payload(text::BytesView raw) {
  if (raw.empty() || raw.front() != transaction_type) return std::nullopt;
  const auto list = decode_rlp(raw.subspan(1));
  if (!list || !list->is_list || list->items.size() != signed_fields) return std::nullopt;
  const std::vector<RlpItem>& fields = list->items;
  const auto entries = access_list(fields[8]);
  const bool creates = !fields[5].is_list && fields[5].bytes.empty();
  const auto to = exactly<20>(fields[5]);
  if (!entries || (!creates && !to) || fields[7].is_list) return std::nullopt;

  IntegerReader read;
  Eip1559Transaction transaction;
  transaction.chain_id = read.narrow(fields[0]);
  transaction.nonce = read.narrow(fields[1]);
  transaction.max_priority_fee_per_gas = read.wide(fields[2]);
  transaction.max_fee_per_gas = read.wide(fields[3]);
  transaction.gas_limit = read.narrow(fields[4]);
  transaction.to = to;
  transaction.value = read.wide(fields[6]);
  transaction.data = fields[7].bytes;
  transaction.access_list = *entries;
  const std::uint64_t parity = read.narrow(fields[9]);
  const Signature signature{parity == 1, read.wide(fields[10]), read.wide(fields[11])};
  if (!read.good || parity > 1) return std::nullopt;
  return std::pair(std::move(transaction), signature);
}

bool is_probe_transfer(const Eip1559Transaction& transaction, const Address& from) {
  return transaction.to == from && transaction.value == Uint256() && transaction.data.empty() &&
         transaction.access_list.empty() && transaction.gas_limit == transfer_gas;
}

}  // namespace rpcroute::chain

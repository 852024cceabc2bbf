#include "rpc/canonical_writer.hpp"

#include <algorithm>
#include <initializer_list>

#include "chain/quantity.hpp"
#include "text/ascii.hpp"
#include "text/digits.hpp"

namespace rpcroute::rpc {
namespace {

using text::Json;
using text::JsonType;
using text::OrderedMember;

/// A member that is called otherwise in the canonical form.
constexpr Marks is_parity = 1U << 29;  ///< `v` of a typed transaction
constexpr Marks is_input = 1U << 30;   ///< `data` of a transaction

/// Lower case, unless one of them is no hexadecimal digit.
bool append_hexadecimal(std::string_view digits, std::string& text) {
  const std::size_t begin = text.size();
  text += digits;
  bool is_hexadecimal = true;
  for (std::size_t i = begin; i < text.size(); ++i) {
    const char small = static_cast<char>(text[i] | 0x20);
    const bool is_letter = small >= 'a' && small <= 'f';
    is_hexadecimal = is_hexadecimal && (is_letter || (text[i] >= '0' && text[i] <= '9'));
    if (is_letter) text[i] = small;
  }
  return is_hexadecimal;
}

Marks no_marks(std::string_view) {
  return 0;
}

/// The members of one object, which stand in order behind those of the objects around it.
class Members {
 public:
  Members(const Json& object, Place place, std::vector<OrderedMember>& all, text::Budget& budget)
      : object_(object), all_(all), first_(all.size()) {
    text::append_ordered(object, place == Place::solana ? no_marks : marks_of, all_, budget);
  }
  ~Members() { all_.resize(first_); }
  Members(const Members&) = delete;
  Members& operator=(const Members&) = delete;

  /// Leaves those on which nodes agree. Returns the object's kind.
  Marks settle() {
    Marks all = 0;
    for (std::size_t i = first_; i < all_.size(); ++i) all |= all_[i].mark;
    const Marks kind = kind_of(all);
    if ((all & (kind | is_optional)) == 0) return kind;
    drop_if([&](const OrderedMember& member) {
      if (kind != 0 && (member.mark & kind) == 0) return true;
      return (kind != 0 || (member.mark & is_optional) != 0) && object_.member(member.position).value.is_null();
    });
    if (kind == in_transaction) settle_transaction();
    if (kind == in_receipt) settle_receipt();
    if (kind == in_log) settle_log();
    return kind;
  }

  std::size_t begin() const { return first_; }
  std::size_t end() const { return all_.size(); }

 private:
  std::string_view source_name(const OrderedMember& member) const { return object_.name(member.position); }

  template <class Condition>
  void drop_if(Condition condition) {
    all_.erase(std::remove_if(all_.begin() + static_cast<std::ptrdiff_t>(first_), all_.end(), condition), all_.end());
  }

  void drop(std::string_view name) {
    drop_if([&](const OrderedMember& member) { return source_name(member) == name; });
  }

  bool says(std::string_view name, std::uint64_t number) const { return chain::read_quantity(object_[name]) == number; }

  /// Of type 0 may lack type and chainId; of the other types' v and yParity, which are the same number, clients send
  /// one or both.
  void settle_transaction() {
    const bool is_legacy = !object_["type"].is_given() || says("type", 0);
    if (is_legacy) {
      drop("type");
      drop("chainId");
    } else if (object_["yParity"].is_given()) {
      drop("v");
    } else {
      rename("v", "yParity", is_parity);
    }
  }

  /// A creation that failed made no contract, though some clients name its address; blobs are for type 3 alone.
  void settle_receipt() {
    if (says("status", 0)) drop("contractAddress");
    if (says("type", 0)) drop("type");
    if (!says("type", 3)) {
      drop("blobGasPrice");
      drop("blobGasUsed");
    }
  }

  void settle_log() {
    if (object_["removed"].boolean() == false) drop("removed");
  }

  void rename(std::string_view from, std::string_view to, Marks mark) {
    const auto begin = all_.begin() + static_cast<std::ptrdiff_t>(first_);
    const auto member = std::find_if(begin, all_.end(), [&](const auto& m) { return source_name(m) == from; });
    if (member == all_.end()) return;
    member->mark |= mark;
    const auto later = std::find_if(begin, all_.end(), [&](const auto& m) { return canonical_name(m) > to; });
    if (member < later) std::rotate(member, member + 1, later);
    if (later < member) std::rotate(later, member, member + 1);
  }

 public:
  std::string_view canonical_name(const OrderedMember& member) const {
    if (member.mark & is_parity) return "yParity";
    if (member.mark & is_input) return "input";
    return source_name(member);
  }

 private:
  const Json object_;
  std::vector<OrderedMember>& all_;
  const std::size_t first_;
};

}  // namespace

void CanonicalWriter::write(const Json& value, Place place) {
  budget_.step();
  drain_some();
  switch (value.type()) {
    case JsonType::object:
      return write_object(value, place);
    case JsonType::array:
      return write_array(value, place);
    case JsonType::number:
      budget_.steps(value.source().size() / 8);
      return write_number(value.source(), place);
    case JsonType::text:
      budget_.steps(value.source().size() / 8);
      return write_text(value.text(), value.source(), place);
    default:
      json_ += value.source();
  }
}

void CanonicalWriter::write_text(std::string_view text, std::string_view source, Place place) {
  if (place == Place::solana || !text.starts_with("0x")) return write_literal(text, source);
  const std::size_t begin = json_.size();
  json_ += '"';
  if (place != Place::quantity || !text::append_canonical_quantity(text, json_)) {
    json_ += "0x";
    if (!append_hexadecimal(text.substr(2), json_)) {
      json_.resize(begin);
      return write_literal(text, source);
    }
  }
  json_ += '"';
}

/// What was written without an escape stands as it must.
void CanonicalWriter::write_literal(std::string_view text, std::string_view source) {
  if (source.size() == text.size() + 2) {
    json_ += source;
  } else {
    text::append_json_literal(text, json_);
  }
}

void CanonicalWriter::write_number(std::string_view number, Place place) {
  if (place != Place::quantity) return text::append_canonical_number(number, json_);
  std::string plain;
  text::append_canonical_number(number, plain);
  std::string quantity;
  if (text::append_canonical_quantity(plain, quantity)) plain = '"' + quantity + '"';
  json_ += plain;
}

void CanonicalWriter::write_array(const Json& array, Place place) {
  char separator = '[';
  for (const Json element : array.elements()) {
    json_ += std::exchange(separator, ',');
    write(element, place);
  }
  json_ += separator == '[' ? "[]" : "]";
}

void CanonicalWriter::write_object(const Json& object, Place place) {
  Members members(object, place, members_, budget_);
  const Marks kind = place == Place::solana ? 0 : members.settle();
  char separator = '{';
  for (std::size_t i = members.begin(); i < members.end(); ++i) {
    const OrderedMember ordered = members_[i];
    const text::JsonMember member = object.member(ordered.position);
    json_ += std::exchange(separator, ',');
    write_literal(members.canonical_name(ordered), member.key.source());
    json_ += ':';
    write(member.value, place == Place::solana ? place : is_number(ordered.mark, kind) ? Place::quantity : Place::data);
  }
  json_ += separator == '{' ? "{}" : "}";
}

void CanonicalWriter::drain_some() {
  constexpr std::size_t enough = std::size_t{1} << 18;
  if (json_.size() < enough) return;
  drain_(json_);
  json_.clear();
}

}  // namespace rpcroute::rpc

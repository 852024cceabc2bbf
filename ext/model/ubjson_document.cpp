// UBJSON (draft 12) as XGBoost writes it: big-endian, object keys with a length of any integer type, arrays plain,
// counted (`[#`) or typed and counted (`[$t#`).
#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "model/document_builder.hpp"
#include "model/error.hpp"

namespace rpcroute::model {
namespace {

class Ubjson {
 public:
  Ubjson(std::span<const std::byte> bytes, text::Budget& budget) : bytes_(bytes), budget_(budget), builder_(budget) {}

  Value read() {
    value(take_marker());
    if (at_ != bytes_.size()) fail("something follows the UBJSON document");
    return builder_.take();
  }

 private:
  [[noreturn]] void fail(const std::string& why) const { throw ModelError(why + " at byte " + std::to_string(at_)); }
  void accept(bool ok) const {
    if (!ok) fail(builder_.complaint());
  }
  std::size_t left() const { return bytes_.size() - at_; }
  char peek() const {
    if (left() == 0) fail("the UBJSON document ends early");
    return static_cast<char>(bytes_[at_]);
  }
  char take_marker() {
    budget_.step();
    const char marker = peek();
    ++at_;
    return marker;
  }

  template <class Unsigned>
  Unsigned take_bits() {
    if (left() < sizeof(Unsigned)) fail("the UBJSON document ends early");
    Unsigned bits = 0;
    for (std::size_t i = 0; i < sizeof(Unsigned); ++i) {
      bits = static_cast<Unsigned>((std::uint64_t{bits} << 8) | std::to_integer<std::uint64_t>(bytes_[at_ + i]));
    }
    at_ += sizeof(Unsigned);
    return bits;
  }

  static bool is_integer(char marker) { return std::string_view("iUIlL").find(marker) != std::string_view::npos; }
  static bool is_real(char marker) { return marker == 'd' || marker == 'D'; }
  static std::size_t width(char marker) {
    switch (marker) {
      case 'i':
      case 'U':
        return 1;
      case 'I':
        return 2;
      case 'l':
      case 'd':
        return 4;
      default:
        return 8;
    }
  }

  std::int64_t take_integer(char marker) {
    switch (marker) {
      case 'i':
        return static_cast<std::int8_t>(take_bits<std::uint8_t>());
      case 'U':
        return take_bits<std::uint8_t>();
      case 'I':
        return static_cast<std::int16_t>(take_bits<std::uint16_t>());
      case 'l':
        return static_cast<std::int32_t>(take_bits<std::uint32_t>());
      case 'L':
        return static_cast<std::int64_t>(take_bits<std::uint64_t>());
      default:
        fail("a length or number of an unknown type");
    }
  }
  float take_real(char marker) {
    if (marker == 'd') return std::bit_cast<float>(take_bits<std::uint32_t>());
    return static_cast<float>(std::bit_cast<double>(take_bits<std::uint64_t>()));
  }

  /// A length or count; `unit` is the least number of bytes each of the counted things takes.
  std::size_t take_count(std::size_t unit) {
    const std::int64_t count = take_integer(take_marker());
    if (count < 0 || static_cast<std::uint64_t>(count) > left() / unit) fail("a length that exceeds the document");
    return static_cast<std::size_t>(count);
  }
  std::string take_text() {
    const std::size_t size = take_count(1);
    budget_.steps(size / 8);
    std::string text(reinterpret_cast<const char*>(bytes_.data() + at_), size);
    at_ += size;
    return text;
  }

  void value(char marker);
  void object();
  void array();
  void typed_array();

  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  text::Budget& budget_;
  DocumentBuilder builder_;
};

void Ubjson::value(char marker) {
  if (is_integer(marker)) return accept(builder_.integer(take_integer(marker)));
  if (is_real(marker)) return accept(builder_.real(take_real(marker)));
  switch (marker) {
    case '{':
      return object();
    case '[':
      return array();
    case 'S':
      return accept(builder_.text(take_text()));
    case 'Z':
      return accept(builder_.null());
    case 'T':
      return accept(builder_.boolean(true));
    case 'F':
      return accept(builder_.boolean(false));
    default:
      --at_;
      fail("an unknown UBJSON type");
  }
}

void Ubjson::object() {
  accept(builder_.begin_object());
  while (peek() != '}') {
    accept(builder_.key(take_text()));
    value(take_marker());
  }
  ++at_;
  accept(builder_.end());
}

void Ubjson::array() {
  if (peek() == '$') return typed_array();
  accept(builder_.begin_array());
  if (peek() == '#') {
    ++at_;
    for (std::size_t remaining = take_count(1); remaining > 0; --remaining) value(take_marker());
  } else {
    while (peek() != ']') value(take_marker());
    ++at_;
  }
  accept(builder_.end());
}

void Ubjson::typed_array() {
  ++at_;
  const char marker = take_marker();
  if (!is_integer(marker) && !is_real(marker)) fail("a typed array of something other than numbers");
  if (take_marker() != '#') fail("a typed array without a count");
  const std::size_t count = take_count(width(marker));
  if (count == 0) {
    accept(builder_.begin_array());
    return accept(builder_.end());
  }
  budget_.cells(count);
  if (is_real(marker)) {
    Value::Reals reals(count);
    std::generate(reals.begin(), reals.end(), [&] { return budget_.step(), take_real(marker); });
    return accept(builder_.reals(std::move(reals)));
  }
  Value::Integers integers(count);
  std::generate(integers.begin(), integers.end(), [&] { return budget_.step(), take_integer(marker); });
  accept(builder_.integers(std::move(integers)));
}

}  // namespace

Value read_ubjson(std::span<const std::byte> bytes, text::Budget& budget) {
  return Ubjson(bytes, budget).read();
}

}  // namespace rpcroute::model

// JSON as XGBoost writes it, read by RapidJSON's event parser.
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <charconv>
#include <limits>
#include <string>

#include "model/document_builder.hpp"
#include "model/error.hpp"

namespace rpcroute::model {
namespace {

// Numbers arrive as text: RapidJSON would round a decimal to double, and a second rounding to float32 can differ from
// XGBoost's single one. NaN and Infinity are accepted here because XGBoost writes them in statistics.
constexpr unsigned parse_flags =
    rapidjson::kParseNumbersAsStringsFlag | rapidjson::kParseNanAndInfFlag | rapidjson::kParseValidateEncodingFlag;

/// Counts each character, so that not even the longest string or blank keeps an interrupt waiting.
class Stream : public rapidjson::MemoryStream {
 public:
  Stream(std::string_view text, std::size_t begin, text::Budget& budget)
      : MemoryStream(text.data(), text.size()), budget_(budget) {
    src_ += begin;
  }
  Ch Take() {
    budget_.step();
    return MemoryStream::Take();
  }

 private:
  text::Budget& budget_;
};

class Events : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, Events> {
 public:
  explicit Events(text::Budget& budget) : builder(budget) {}

  bool Null() { return builder.null(); }
  bool Bool(bool value) { return builder.boolean(value); }
  bool RawNumber(const char* text, rapidjson::SizeType size, bool) { return number({text, size}); }
  bool String(const char* text, rapidjson::SizeType size, bool) { return builder.text({text, size}); }
  bool Key(const char* text, rapidjson::SizeType size, bool) { return builder.key({text, size}); }
  bool StartObject() { return builder.begin_object(); }
  bool EndObject(rapidjson::SizeType) { return builder.end(); }
  bool StartArray() { return builder.begin_array(); }
  bool EndArray(rapidjson::SizeType) { return builder.end(); }
  // Unreachable with numbers as text; they keep a stray call from being taken for an accepted value.
  bool Int(int) { return false; }
  bool Uint(unsigned) { return false; }
  bool Int64(std::int64_t) { return false; }
  bool Uint64(std::uint64_t) { return false; }
  bool Double(double) { return false; }

  DocumentBuilder builder;

 private:
  bool number(std::string_view text);
};

bool Events::number(std::string_view text) {
  const char* const end = text.data() + text.size();
  std::int64_t whole = 0;
  const auto as_integer = std::from_chars(text.data(), end, whole);
  if (as_integer.ec == std::errc{} && as_integer.ptr == end) return builder.integer(whole);

  float real = 0;
  const auto as_real = std::from_chars(text.data(), end, real);
  if (as_real.ec == std::errc{} && as_real.ptr == end) return builder.real(real);
  // Outside float32's range: the double says whether it becomes infinity or zero. Outside double's as well it is no
  // number at all, which every field that matters refuses.
  double wide = 0;
  const auto as_double = std::from_chars(text.data(), end, wide);
  const bool ok = as_double.ec == std::errc{} && as_double.ptr == end;
  return builder.real(ok ? static_cast<float>(wide) : std::numeric_limits<float>::quiet_NaN());
}

}  // namespace

Value read_json(std::string_view text, std::size_t begin, text::Budget& budget) {
  Stream stream(text, begin, budget);
  rapidjson::Reader reader;
  Events events(budget);
  const rapidjson::ParseResult result = reader.Parse<parse_flags>(stream, events);
  const auto at = [](std::size_t position) { return " at byte " + std::to_string(position); };
  if (!events.builder.complaint().empty()) throw ModelError(events.builder.complaint() + at(result.Offset()));
  if (!result) {
    throw ModelError("not JSON" + at(result.Offset()) + ": " + rapidjson::GetParseError_En(result.Code()));
  }
  // The parser takes a NUL byte for the end of its input.
  if (stream.Tell() != text.size()) throw ModelError("something follows the JSON document" + at(stream.Tell()));
  return events.builder.take();
}

}  // namespace rpcroute::model

// How a JsonTree is read: in one pass, by RapidJSON's events.
#include <rapidjson/error/en.h>
#include <rapidjson/reader.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "text/ascii.hpp"
#include "text/json.hpp"
#include "text/utf8.hpp"

namespace rpcroute::text {
namespace {

constexpr std::uint32_t largest = (std::uint32_t{1} << 28) - 1;  // what a node's extent holds
constexpr std::size_t stretch = std::size_t{1} << 16;            // bytes between two looks at the budget
constexpr std::size_t bytes_a_step = 16;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// The length of the number at the front of `text`, RFC 8259 section 6; 0 when there is none.
std::size_t number_length(std::string_view text) {
  std::size_t at = 0;
  const auto next = [&] { return at < text.size() ? text[at] : '\0'; };
  const auto skip_digits = [&] {
    const std::size_t begin = at;
    while (is_digit(next())) ++at;
    return at > begin;
  };
  if (next() == '-') ++at;
  if (next() == '0') {
    ++at;
  } else if (!skip_digits()) {
    return 0;
  }
  if (next() == '.') {
    ++at;
    if (!skip_digits()) return 0;
  }
  if (next() == 'e' || next() == 'E') {
    ++at;
    if (next() == '+' || next() == '-') ++at;
    if (!skip_digits()) return 0;
  }
  return at;
}

/// How many bytes at the front of `text` stand for themselves in a string: no quote, no escape, no control character.
std::size_t plain_length(std::string_view text) {
  constexpr std::uint64_t ones = 0x0101010101010101;
  constexpr std::uint64_t highs = 0x8080808080808080;
  const auto has_zero = [](std::uint64_t word) { return (word - ones) & ~word & highs; };
  std::size_t at = 0;
  for (std::uint64_t word = 0; at + sizeof word <= text.size(); at += sizeof word) {
    std::memcpy(&word, text.data() + at, sizeof word);
    const std::uint64_t below_space = (word - ones * ' ') & ~word & highs;
    if (has_zero(word ^ ones * '"') | has_zero(word ^ ones * '\\') | below_space) break;
  }
  while (at < text.size() && text[at] != '"' && text[at] != '\\' && static_cast<unsigned char>(text[at]) >= ' ') ++at;
  return at;
}

/// The text as RapidJSON reads it. What needs no decoding is shown in short: each number as 0, since it refuses those
/// that no double holds, and a string without escapes as an empty one.
class Stream {
 public:
  using Ch = char;

  Stream(std::string_view text, Budget& budget)
      : text_(text), budget_(budget), at_(text.data()), end_(text.data()), text_end_(text.data() + text.size()) {}

  Ch Peek() { return at_ != end_ || refill() ? *at_ : '\0'; }
  Ch Take() { return at_ != end_ || refill() ? *at_++ : '\0'; }
  std::size_t Tell() const { return static_cast<std::size_t>((is_showing_ ? behind_token_ : at_) - text_.data()); }

  // Of a stream that is read in place.
  Ch* PutBegin() { return nullptr; }
  void Put(Ch) {}
  void Flush() {}
  std::size_t PutEnd(Ch*) { return 0; }

  /// Where the next token begins behind so many bytes; the text's size when none does. Sees to what it is shown as.
  std::size_t foresee(std::size_t behind) {
    leave_token();
    const char* token = at_ + behind;
    while (token != text_end_ && (is_blank(*token) || *token == ',' || *token == ':')) ++token;
    const auto begin = static_cast<std::size_t>(token - text_.data());
    if (token == text_end_) return begin;
    if (*token == '-' || is_digit(*token)) {
      if (const std::size_t length = number_length(text_.substr(begin))) show(token, length, "0");
    } else if (*token == '"') {
      const std::size_t length = 1 + plain_length(text_.substr(begin + 1));
      if (token + length != text_end_ && token[length] == '"') show(token, length + 1, "\"\"");
    }
    return begin;
  }

 private:
  void show(const char* token, std::size_t length, std::string_view shown) {
    end_ = token_ = token;
    behind_token_ = token + length;
    shown_ = shown;
    budget_.steps(length / bytes_a_step);
  }

  void leave_token() {
    if (std::exchange(is_showing_, false)) at_ = end_ = behind_token_;
  }

  bool refill() {
    if (at_ == token_) {
      token_ = nullptr;
      is_showing_ = true;
      at_ = shown_.data();
      end_ = at_ + shown_.size();
      return true;
    }
    leave_token();
    const std::size_t length = std::min(static_cast<std::size_t>(text_end_ - at_), stretch);
    budget_.steps(length / bytes_a_step);
    end_ = at_ + length;
    return length > 0;
  }

  std::string_view text_;
  Budget& budget_;
  const char* at_;
  const char* end_;
  const char* const text_end_;
  const char* token_ = nullptr;  // the next to come that is shown in short
  const char* behind_token_ = nullptr;
  std::string_view shown_;
  bool is_showing_ = false;
};

/// How much of the text is valid UTF-8.
std::size_t valid_length(std::string_view text, Budget& budget) {
  std::size_t valid = 0;
  while (const std::size_t more = valid_utf8_length(text.substr(valid, stretch))) {
    budget.steps(more / bytes_a_step);
    valid += more;
  }
  return valid;
}

}  // namespace

/// Takes RapidJSON's events.
class JsonTree::Builder : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, Builder> {
 public:
  Builder(JsonTree& tree, Budget& budget) : tree_(tree), budget_(budget), stream_(tree.source_, budget) {}

  void read() {
    rapidjson::Reader reader;
    begin_ = stream_.foresee(0);
    const auto result = reader.Parse<rapidjson::kParseIterativeFlag>(stream_, *this);
    if (!result.IsError()) return;
    const bool ours = result.Code() == rapidjson::kParseErrorTermination;
    tree_.problem_ = ours ? problem_ : lower(rapidjson::GetParseError_En(result.Code()));
    tree_.problem_position_ = result.Offset() + 1;
  }

  bool Null() { return scalar(JsonType::null); }
  bool Bool(bool) { return scalar(JsonType::boolean); }
  bool Uint(unsigned) { return scalar(JsonType::number); }
  bool Key(const char* text, rapidjson::SizeType size, bool copy) { return String(text, size, copy); }

  bool String(const char* text, rapidjson::SizeType size, bool) {
    const std::size_t length = stream_.Tell() - begin_;
    const bool is_escaped = size != 0;  // without escapes it was shown as an empty one
    if (is_escaped && valid_utf8_length({text, size}) != size) {
      problem_ = "a text holds half of a surrogate pair";
      return false;
    }
    add(begin_, JsonType::text, is_escaped, length);
    if (is_escaped) {
      add(tree_.decoded_.size(), JsonType::absent, false, size);
      tree_.decoded_.append(text, size);
    }
    return go_on(0);
  }

  // These come before the bracket is taken.
  bool StartObject() { return open(JsonType::object); }
  bool StartArray() { return open(JsonType::array); }
  bool EndObject(rapidjson::SizeType) { return close(); }
  bool EndArray(rapidjson::SizeType) { return close(); }

 private:
  void add(std::size_t begin, JsonType type, bool is_escaped, std::size_t extent) {
    budget_.cells();
    tree_.nodes_.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(type), is_escaped,
                            static_cast<std::uint32_t>(extent) & largest});
  }

  bool scalar(JsonType type) {
    add(begin_, type, false, stream_.Tell() - begin_);
    return go_on(0);
  }

  bool open(JsonType type) {
    if (open_.size() == max_json_depth) {
      problem_ = "it is nested too deeply";
      return false;
    }
    open_.push_back(tree_.nodes_.size());
    add(begin_, type, false, 0);
    return go_on(1);
  }

  bool close() {
    tree_.nodes_[open_.back()].extent = tree_.nodes_.size() & largest;
    open_.pop_back();
    return go_on(1);
  }

  bool go_on(std::size_t taken_later) {
    budget_.step();
    begin_ = stream_.foresee(taken_later);
    return true;
  }

  JsonTree& tree_;
  Budget& budget_;
  Stream stream_;
  std::size_t begin_ = 0;            // of the token
  std::vector<std::uint32_t> open_;  // the arrays and objects around it
  std::string problem_;
};

JsonTree::JsonTree(std::string_view source, Budget& budget) : source_(source) {
  budget.bytes(source.size());
  if (source.size() > largest) {
    problem_ = "it is larger than " + std::to_string(largest) + " bytes";
  } else if (trimmed(source).empty()) {
    problem_ = "it is empty";
  } else if (source.find('\0') != std::string_view::npos) {  // where RapidJSON would stop
    problem_ = "it holds a NUL character";
  } else if (const std::size_t valid = valid_length(source, budget); valid < source.size()) {
    problem_ = "it is no valid UTF-8";
    problem_position_ = valid + 1;
  } else {
    Builder(*this, budget).read();
  }
}

}  // namespace rpcroute::text

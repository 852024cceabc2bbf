// Puts a document together from the events of a reader, within bounds.
#pragma once

#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "model/document.hpp"

namespace rpcroute::model {

/// Receives values in document order. Every call returns false when the document breaks a rule; `complaint` then says
/// which. Not thread-safe.
class DocumentBuilder {
 public:
  explicit DocumentBuilder(text::Budget& budget) : budget_(budget) {}

  bool null() { return add(Value{}); }
  bool boolean(bool value);
  bool integer(std::int64_t value);
  bool real(float value);
  bool text(std::string value);
  bool reals(Value::Reals values) { return add(Value{std::move(values)}); }
  bool integers(Value::Integers values) { return add(Value{std::move(values)}); }
  bool begin_object() { return open(Value{Value::Object{}}); }
  bool begin_array() { return open(Value{Value::Array{}}); }
  bool key(std::string name);
  bool end();

  const std::string& complaint() const { return complaint_; }
  Value take() { return std::move(root_); }

 private:
  bool open(Value container);
  bool add(Value value);
  bool refuse(std::string complaint);

  struct Level {
    Level(Value value, text::Budget& budget) : container(std::move(value)), nesting(budget) {}
    Value container;
    std::string key;
    text::Budget::Level nesting;
  };

  text::Budget& budget_;
  std::deque<Level> levels_;
  Value root_;
  std::string complaint_;
};

/// The two readers behind read_document(). They throw ModelError, text::OverBudget. JSON begins at `begin`.
Value read_json(std::string_view text, std::size_t begin, text::Budget& budget);
Value read_ubjson(std::span<const std::byte> bytes, text::Budget& budget);

}  // namespace rpcroute::model

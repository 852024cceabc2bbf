// Puts a document together from the events of a reader, within bounds.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/document.hpp"

namespace rpcroute::model {

/// Receives values in document order. Every call returns false when the document breaks a bound or a rule; `complaint`
/// then says which. Not thread-safe.
class DocumentBuilder {
 public:
  bool null() { return add(Value{}); }
  bool boolean(bool value);
  bool integer(std::int64_t value);
  bool real(float value);
  bool text(std::string value) { return add(Value{std::move(value)}); }
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
    Value container;
    std::string key;
  };
  std::vector<Level> levels_;
  Value root_;
  std::size_t values_ = 0;
  std::string complaint_;
};

/// The two readers behind read_document(). They throw ModelError.
Value read_json(std::string_view text);
Value read_ubjson(std::span<const std::byte> bytes);

}  // namespace rpcroute::model

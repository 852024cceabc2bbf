// The one reader of JSON: a text becomes a flat tree, and every value in it knows how it was written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "text/budget.hpp"

namespace rpcroute::text {

/// Deeper nesting than any answer of a node has: what walks a tree may recurse.
constexpr std::size_t max_json_depth = 512;

/// `absent` is what is found where nothing is.
enum class JsonType : std::uint8_t { absent, null, boolean, number, text, array, object };

class JsonTree;
template <class Child>
class JsonChildren;
struct JsonMember;

/// A value in a JsonTree, which must outlive it. Cheap to copy. A value that is asked for what its type does not have
/// gives nothing: an empty text, no elements, an absent member.
class Json {
 public:
  Json() = default;

  JsonType type() const;
  bool is(JsonType type) const { return type == this->type(); }
  bool is_text() const { return is(JsonType::text); }
  bool is_array() const { return is(JsonType::array); }
  bool is_object() const { return is(JsonType::object); }
  bool is_null() const { return is(JsonType::null); }

  /// Neither absent nor null.
  bool is_given() const { return type() > JsonType::null; }

  /// As written, without the blanks around it; empty when absent.
  std::string_view source() const;

  /// Of a text, decoded.
  std::string_view text() const;

  /// Of a number that is written without point and exponent and fits.
  std::optional<std::int64_t> integer() const;
  std::optional<std::uint64_t> unsigned_integer() const;

  /// Of a number that is not beyond a double.
  std::optional<double> real() const;

  std::optional<bool> boolean() const;

  /// In the order of the text, duplicates as they come.
  JsonChildren<Json> elements() const;
  JsonChildren<JsonMember> members() const;

  /// The member of that name, of duplicates the last.
  Json operator[](std::string_view name) const;

  /// The member at a JsonMember::position of this object, and its name alone.
  JsonMember member(std::uint32_t position) const;
  std::string_view name(std::uint32_t position) const;

 private:
  friend class JsonTree;
  template <class Child>
  friend class JsonChildren;

  Json(const JsonTree* tree, std::uint32_t node, std::uint32_t end) : tree_(tree), node_(node), end_(end) {}
  /// Of an array or object: the child at a node; where it ends in the source.
  Json child(std::uint32_t node) const;
  std::uint32_t end_of(std::uint32_t child) const;

  const JsonTree* tree_ = nullptr;
  std::uint32_t node_ = 0;  // in the tree
  std::uint32_t end_ = 0;   // in the source, of an array or object
};

struct JsonMember {
  std::string_view name;  ///< decoded
  Json key;               ///< the name as the text that it is
  Json value;
  std::uint32_t position;  ///< rises in the order of the text
};

/// A text read as JSON: RFC 8259, valid UTF-8, no NUL, at most `max_json_depth` levels, less than 256 MiB, numbers of
/// any size as they were written. The text must outlive the tree, in which a value takes 8 bytes, a text with escapes
/// 16 more than its decoded form.
class JsonTree {
 public:
  /// Throws what the budget throws.
  JsonTree(std::string_view source, Budget& budget);
  explicit JsonTree(std::string_view source, Budget&& budget = Budget()) : JsonTree(source, budget) {}
  JsonTree(const JsonTree&) = delete;
  JsonTree& operator=(const JsonTree&) = delete;

  /// Why the text is no JSON; empty when it is. What is none has an absent root.
  const std::string& problem() const { return problem_; }
  /// The byte, from 1, at which its reader gave up; 0 when that is no place's fault.
  std::size_t problem_position() const { return problem_position_; }

  Json root() const;

 private:
  friend class Json;
  template <class Child>
  friend class JsonChildren;
  class Builder;

  /// In the order of the text, a name before its value. `extent` is the length of a scalar, and of an array or object
  /// the index behind its last descendant. A text with escapes is followed by a node which says where it is decoded.
  struct Node {
    std::uint32_t begin;
    std::uint32_t type : 3;
    std::uint32_t is_escaped : 1;
    std::uint32_t extent : 28;
  };

  /// Grows where it lies, as a vector cannot: at its peak that would hold three times what it needs.
  class Nodes {
   public:
    void push_back(Node node) {
      if (size_ == capacity_) grow();
      nodes_.get()[size_++] = node;
    }
    std::uint32_t size() const { return size_; }
    Node& operator[](std::uint32_t i) { return nodes_.get()[i]; }
    const Node& operator[](std::uint32_t i) const { return nodes_.get()[i]; }

   private:
    void grow();

    struct Free {
      void operator()(Node* nodes) const { std::free(nodes); }
    };
    std::unique_ptr<Node, Free> nodes_;
    std::uint32_t size_ = 0;
    std::uint32_t capacity_ = 0;
  };

  bool has_children(std::uint32_t node) const { return nodes_[node].type >= static_cast<unsigned>(JsonType::array); }

  /// The node behind a value and all that is in it.
  std::uint32_t behind(std::uint32_t node) const {
    return has_children(node) ? nodes_[node].extent : node + 1 + nodes_[node].is_escaped;
  }

  std::string_view text_of(std::uint32_t node) const {
    const Node& text = nodes_[node];
    if (!text.is_escaped) return {source_.data() + text.begin + 1, text.extent - 2U};
    return {decoded_.data() + nodes_[node + 1].begin, nodes_[node + 1].extent};
  }

  std::string_view source_;
  Nodes nodes_;
  std::string decoded_;
  std::string problem_;
  std::size_t problem_position_ = 0;
};

/// What a range-based for goes through.
template <class Child>
class JsonChildren {
 public:
  class Iterator {
   public:
    Iterator(const Json& parent, std::uint32_t node) : parent_(parent), node_(node) {}
    bool operator==(const Iterator& other) const { return node_ == other.node_; }
    std::uint32_t position() const { return node_; }
    Child operator*() const {
      if constexpr (of_members) {
        return parent_.member(node_);
      } else {
        return parent_.child(node_);
      }
    }
    Iterator& operator++() {
      if constexpr (of_members) node_ = parent_.tree_->behind(node_);
      node_ = parent_.tree_->behind(node_);
      return *this;
    }

   private:
    static constexpr bool of_members = std::is_same_v<Child, JsonMember>;
    Json parent_;
    std::uint32_t node_;
  };

  Iterator begin() const { return {parent_, first_}; }
  Iterator end() const { return {parent_, stop_}; }
  bool empty() const { return first_ == stop_; }

 private:
  friend class Json;
  JsonChildren(const Json& parent, std::uint32_t first, std::uint32_t stop)
      : parent_(parent), first_(first), stop_(stop) {}
  Json parent_;
  std::uint32_t first_;
  std::uint32_t stop_;
};

inline JsonType Json::type() const {
  return tree_ == nullptr ? JsonType::absent : static_cast<JsonType>(tree_->nodes_[node_].type);
}

inline std::string_view Json::source() const {
  if (tree_ == nullptr) return {};
  const JsonTree::Node& node = tree_->nodes_[node_];
  return {tree_->source_.data() + node.begin, tree_->has_children(node_) ? end_ - node.begin : node.extent};
}

inline std::string_view Json::text() const {
  return is_text() ? tree_->text_of(node_) : std::string_view();
}

inline std::string_view Json::name(std::uint32_t position) const {
  return tree_->text_of(position);
}

inline Json Json::child(std::uint32_t node) const {
  return {tree_, node, tree_->has_children(node) ? end_of(node) : 0};
}

inline JsonMember Json::member(std::uint32_t position) const {
  return {name(position), Json(tree_, position, 0), child(tree_->behind(position)), position};
}

inline JsonChildren<Json> Json::elements() const {
  return is_array() ? JsonChildren<Json>(*this, node_ + 1, tree_->behind(node_)) : JsonChildren<Json>({}, 0, 0);
}

inline JsonChildren<JsonMember> Json::members() const {
  using Members = JsonChildren<JsonMember>;
  return is_object() ? Members(*this, node_ + 1, tree_->behind(node_)) : Members({}, 0, 0);
}

/// `text`, which is valid UTF-8, as a JSON string literal.
std::string json_literal(std::string_view text);
void append_json_literal(std::string_view text, std::string& json);

}  // namespace rpcroute::text

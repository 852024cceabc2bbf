// A JSON value as a tree whose numbers keep the digits they were written with.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rpcroute::text {

struct JsonTree {
  enum class Type { null, boolean, number, text, array, object };

  Type type = Type::null;
  std::string scalar;  ///< of text decoded, otherwise as written
  std::vector<JsonTree> elements;
  struct Member;
  std::vector<Member> members;  ///< sorted by name; of duplicates the last

  /// The member, or nullptr.
  const JsonTree* find(std::string_view name) const;

  bool is_text() const { return type == Type::text; }
  bool is_null() const { return type == Type::null; }
};

struct JsonTree::Member {
  std::string name;
  JsonTree value;
};

/// Throws std::invalid_argument with the reason when `json` is none.
JsonTree parse_tree(std::string_view json);

/// Without blanks.
std::string to_json(const JsonTree& tree);

/// Appends the paths (SQLite's: `$.logs[0].data`) at which the trees differ; where one side has nothing, that path.
void append_differences(const JsonTree& a, const JsonTree& b, const std::string& path, std::vector<std::string>& paths);

}  // namespace rpcroute::text

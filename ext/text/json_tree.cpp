#include "text/json_tree.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "text/ascii.hpp"
#include "text/json.hpp"

namespace rpcroute::text {
namespace {

/// By name; of duplicates the last one stays, as with most readers.
void sort_members(std::vector<JsonTree::Member>& members) {
  std::stable_sort(members.begin(), members.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const bool last = i + 1 == members.size() || members[i].name != members[i + 1].name;
    if (!last) continue;
    if (kept != i) members[kept] = std::move(members[i]);
    ++kept;
  }
  members.resize(kept);
}

/// Of valid JSON; recursion is bounded by max_json_depth.
JsonTree build(std::string_view json) {
  JsonTree tree;
  switch (json.front()) {
    case '{':
      tree.type = JsonTree::Type::object;
      for (JsonMember& member : json_members(json))
        tree.members.push_back({std::move(member.name), build(member.value)});
      break;
    case '[':
      tree.type = JsonTree::Type::array;
      for (const std::string_view element : json_elements(json)) tree.elements.push_back(build(element));
      break;
    case '"':
      tree.type = JsonTree::Type::text;
      tree.scalar = json_text(json);
      break;
    case 'n':
      break;
    case 't':
    case 'f':
      tree.type = JsonTree::Type::boolean;
      tree.scalar = json;
      break;
    default:
      tree.type = JsonTree::Type::number;
      tree.scalar = json;
  }
  sort_members(tree.members);
  return tree;
}

void append_json(const JsonTree& tree, std::string& json) {
  const char* separator = "";
  switch (tree.type) {
    case JsonTree::Type::null:
      json += "null";
      break;
    case JsonTree::Type::boolean:
    case JsonTree::Type::number:
      json += tree.scalar;
      break;
    case JsonTree::Type::text:
      json += json_literal(tree.scalar);
      break;
    case JsonTree::Type::array:
      json += '[';
      for (const JsonTree& element : tree.elements) {
        json += std::exchange(separator, ",");
        append_json(element, json);
      }
      json += ']';
      break;
    case JsonTree::Type::object:
      json += '{';
      for (const auto& [name, value] : tree.members) {
        json += std::exchange(separator, ",") + json_literal(name) + ':';
        append_json(value, json);
      }
      json += '}';
      break;
  }
}

std::string member_path(const std::string& path, const std::string& name) {
  const bool plain = !name.empty() && name.find_first_of("\".[ ") == std::string::npos;
  return path + '.' + (plain ? name : json_literal(name));
}

void append_member_differences(const JsonTree& a, const JsonTree& b, const std::string& path,
                               std::vector<std::string>& paths) {
  auto left = a.members.begin();
  auto right = b.members.begin();
  while (left != a.members.end() || right != b.members.end()) {
    if (right == b.members.end() || (left != a.members.end() && left->name < right->name)) {
      paths.push_back(member_path(path, (left++)->name));
    } else if (left == a.members.end() || right->name < left->name) {
      paths.push_back(member_path(path, (right++)->name));
    } else {
      append_differences(left->value, right->value, member_path(path, left->name), paths);
      ++left;
      ++right;
    }
  }
}

}  // namespace

const JsonTree* JsonTree::find(std::string_view name) const {
  const auto found = std::lower_bound(members.begin(), members.end(), name,
                                      [](const auto& m, std::string_view n) { return m.name < n; });
  return found != members.end() && found->name == name ? &found->value : nullptr;
}

JsonTree parse_tree(std::string_view json) {
  if (const auto problem = json_problem(json)) throw std::invalid_argument("not JSON: " + *problem);
  return build(trimmed(json));
}

std::string to_json(const JsonTree& tree) {
  std::string json;
  append_json(tree, json);
  return json;
}

void append_differences(const JsonTree& a, const JsonTree& b, const std::string& path,
                        std::vector<std::string>& paths) {
  if (a.type != b.type || a.scalar != b.scalar) {
    paths.push_back(path);
    return;
  }
  append_member_differences(a, b, path, paths);
  for (std::size_t i = 0; i < std::max(a.elements.size(), b.elements.size()); ++i) {
    const std::string element = path + '[' + std::to_string(i) + ']';
    if (i < a.elements.size() && i < b.elements.size()) {
      append_differences(a.elements[i], b.elements[i], element, paths);
    } else {
      paths.push_back(element);
    }
  }
}

}  // namespace rpcroute::text

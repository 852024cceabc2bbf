#include "text/json_diff.hpp"

#include <string_view>

namespace rpcroute::text {
namespace {

class Comparison {
 public:
  Comparison(std::size_t max_bytes, Budget& budget) : max_bytes_(max_bytes), budget_(budget) {}

  std::string paths_between(const Json& a, const Json& b) {
    compare(a, b);
    paths_ += paths_.empty() ? "[]" : "]";
    return std::move(paths_);
  }

 private:
  /// Recursion is bounded by max_json_depth.
  void compare(const Json& a, const Json& b) {
    budget_.step();
    if (a.type() != b.type()) {
      report();
    } else if (a.is_object()) {
      compare_members(a, b);
    } else if (a.is_array()) {
      compare_elements(a, b);
    } else if (a.source() != b.source()) {
      report();
    }
  }

  void compare_members(const Json& a, const Json& b) {
    const auto left = a.members();
    const auto right = b.members();
    auto l = left.begin();
    auto r = right.begin();
    while (l != left.end() || r != right.end()) {
      const bool only_left = r == right.end() || (l != left.end() && (*l).name < (*r).name);
      const bool only_right = !only_left && (l == left.end() || (*r).name < (*l).name);
      const std::size_t before = enter_member(only_right ? *r : *l);
      if (only_left || only_right) {
        report();
      } else {
        compare((*l).value, (*r).value);
      }
      path_.resize(before);
      if (!only_right) ++l;
      if (!only_left) ++r;
    }
  }

  void compare_elements(const Json& a, const Json& b) {
    const auto left = a.elements();
    const auto right = b.elements();
    auto l = left.begin();
    auto r = right.begin();
    for (std::size_t i = 0; l != left.end() || r != right.end(); ++i) {
      const std::size_t before = path_.size();
      ((path_ += '[') += std::to_string(i)) += ']';
      if (l == left.end() || r == right.end()) {
        report();
      } else {
        compare(*l, *r);
      }
      path_.resize(before);
      if (l != left.end()) ++l;
      if (r != right.end()) ++r;
    }
  }

  /// Returns the size of the path before.
  std::size_t enter_member(const JsonMember& member) {
    const std::size_t before = path_.size();
    path_ += '.';
    const bool is_plain = !member.name.empty() && member.name.find_first_of("\".[ ") == std::string_view::npos;
    path_ += is_plain ? member.name : member.key.source();
    return before;
  }

  void report() {
    paths_ += paths_.empty() ? '[' : ',';
    append_json_literal(path_, paths_);
    budget_.steps(path_.size());
    if (paths_.size() > max_bytes_) throw OverBudget("more than " + std::to_string(max_bytes_) + " bytes of paths");
  }

  const std::size_t max_bytes_;
  Budget& budget_;
  std::string path_ = "$";
  std::string paths_;
};

}  // namespace

std::string json_differences(const Json& a, const Json& b, std::size_t max_bytes, Budget& budget) {
  return Comparison(max_bytes, budget).paths_between(a, b);
}

}  // namespace rpcroute::text

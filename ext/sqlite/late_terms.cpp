#include "sqlite/late_terms.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "sqlite/query.hpp"

namespace rpcroute::sqlite {
namespace {

struct Instruction {
  std::int64_t address;
  std::string opcode;
  std::int64_t p1, p2, p3;
  std::string p4;
};

bool is_one_of(std::string_view opcode, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), opcode) != names.end();
}

/// Whether `p4` of a VOpen names the table: "vtab:" and its address.
bool names_table(std::string_view p4, const sqlite3_vtab* table) {
  constexpr std::string_view kPrefix = "vtab:";
  if (!p4.starts_with(kPrefix)) return false;
  p4.remove_prefix(kPrefix.size());
  if (p4.starts_with("0x")) p4.remove_prefix(2);
  std::uintptr_t address = 0;
  std::from_chars(p4.data(), p4.data() + p4.size(), address, 16);
  return address == reinterpret_cast<std::uintptr_t>(table);
}

/// The number in "upper(1)": how many arguments a function takes.
std::int64_t arguments_of(std::string_view p4) {
  std::int64_t count = 0;
  const auto open = p4.rfind('(');
  if (open != std::string_view::npos) std::from_chars(p4.data() + open + 1, p4.data() + p4.size(), count);
  return count;
}

/// Follows what the columns' values become, register by register.
class Follower {
 public:
  Follower(const sqlite3_vtab* table, const std::vector<std::size_t>& columns, Comparison comparison)
      : table_(table), columns_(columns), comparison_(comparison) {}

  /// Takes the next instruction; true when it compares a value that comes from one of the columns.
  bool compares(const Instruction& step) {
    if (step.address == 0) {  // of the statement, or of one of its triggers
      cursors_.clear();
      held_.clear();
    }
    if (looked_up_) {  // DISTINCT goes on to make a record of what it has not found
      const bool is_distinct = step.opcode == "MakeRecord" && step.p1 == *looked_up_;
      looked_up_.reset();
      if (!is_distinct) return true;
    }
    if (step.opcode == "VOpen") {
      if (names_table(step.p4, table_)) cursors_.insert(step.p1);
    } else if (step.opcode == "VColumn") {
      const bool asked = std::find(columns_.begin(), columns_.end(), static_cast<std::size_t>(step.p2)) != columns_.end();
      hold(step.p3, asked && cursors_.contains(step.p1));
    } else if (is_one_of(step.opcode, {"Copy", "SCopy", "Move"})) {
      const std::int64_t more = step.opcode == "Copy" ? step.p3 : std::max<std::int64_t>(step.p3 - 1, 0);
      for (std::int64_t i = 0; i <= (step.opcode == "SCopy" ? 0 : more); ++i) hold(step.p2 + i, holds(step.p1 + i));
    } else if (is_one_of(step.opcode, {"Function", "PureFunc"})) {
      hold(step.p3, any(step.p2, arguments_of(step.p4)));
    } else if (is_one_of(step.opcode, {"Concat", "Add", "Subtract", "Multiply", "Divide", "Remainder", "And", "Or"})) {
      hold(step.p3, holds(step.p1) || holds(step.p2));
    } else if (is_one_of(step.opcode, {"Eq", "Ne"})) {
      return holds(step.p1) || holds(step.p3);
    } else if (is_one_of(step.opcode, {"Lt", "Le", "Gt", "Ge"})) {
      return comparison_ == Comparison::any && (holds(step.p1) || holds(step.p3));
    } else if (is_one_of(step.opcode, {"If", "IfNot", "IsNull", "NotNull", "IsTrue"})) {
      return comparison_ == Comparison::any && holds(step.p1);
    } else if (is_one_of(step.opcode, {"Found", "NotFound", "SeekGE", "SeekGT", "SeekLE", "SeekLT", "IdxGE", "IdxGT",
                                       "IdxLE", "IdxLT"})) {
      std::int64_t count = 1;
      std::from_chars(step.p4.data(), step.p4.data() + step.p4.size(), count);
      const bool found = any(step.p3, std::max<std::int64_t>(count, 1));
      if (!found || step.opcode != "Found") return found;
      if (comparison_ == Comparison::any) looked_up_ = step.p3;  // else it is DISTINCT or NOT IN
    } else if (step.opcode == "VFilter") {
      return any(step.p3 + 2, 16);  // what another virtual table is asked for
    }
    return false;
  }

 private:
  bool holds(std::int64_t place) const { return held_.contains(place); }
  bool any(std::int64_t first, std::int64_t count) const {
    const auto found = held_.lower_bound(first);
    return found != held_.end() && *found < first + count;
  }
  void hold(std::int64_t place, bool value) {
    if (value) {
      held_.insert(place);
    } else {
      held_.erase(place);
    }
  }

  const sqlite3_vtab* table_;
  const std::vector<std::size_t>& columns_;
  Comparison comparison_;
  std::set<std::int64_t> cursors_;
  std::set<std::int64_t> held_;  ///< registers with such a value
  std::optional<std::int64_t> looked_up_;  ///< the register of one, just looked up in a set
};

}  // namespace

bool compares_late(Connection& connection, sqlite3_stmt* statement, const sqlite3_vtab* table,
                   const std::vector<std::size_t>& columns, Comparison comparison) {
  const char* sql = sqlite3_sql(statement);
  if (sql == nullptr || columns.empty()) return false;
  Follower follower(table, columns, comparison);
  Query program(connection, std::string("EXPLAIN ") + sql);
  while (program.step()) {
    const Instruction step{program.integer(0), program.text(1), program.integer(2),
                           program.integer(3), program.integer(4), program.text(5)};
    if (follower.compares(step)) return true;
  }
  return false;
}

}  // namespace rpcroute::sqlite

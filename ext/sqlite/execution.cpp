// A tag is sixteen hexadecimal digits, the statement's address; '?', or '=' once it is known to be the one that runs the
// plan; and for each statement that had been prepared anew by then, its address, ':', how often, ','; and '|'.
#include "sqlite/execution.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace rpcroute::sqlite {
namespace {

constexpr std::size_t kDigits = 16;
constexpr char kSupposed = '?';
constexpr char kKnown = '=';

int runs(sqlite3_stmt* statement) {
  return sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_RUN, 0);
}

int times_prepared_anew(sqlite3_stmt* statement) {
  return sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_REPREPARE, 0);
}

std::string digits_of(sqlite3_stmt* statement) {
  char digits[kDigits + 1];
  std::snprintf(digits, sizeof digits, "%016llx",
                static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(statement)));
  return digits;
}

sqlite3_stmt* statement_of(const char* digits) {
  unsigned long long address = 0;
  std::from_chars(digits, digits + kDigits, address, 16);
  return reinterpret_cast<sqlite3_stmt*>(static_cast<std::uintptr_t>(address));
}

/// How often the statement had been prepared anew when the tag was made.
int times_by_tag(const char* plan, sqlite3_stmt* statement) {
  const char* entry = plan + kDigits + 1;
  while (*entry != '|') {
    const char* end = std::strchr(entry, ',');
    int times = 0;
    std::from_chars(entry + kDigits + 1, end, times);
    if (statement_of(entry) == statement) return times;
    entry = end + 1;
  }
  return 0;
}

}  // namespace

std::vector<sqlite3_stmt*> Executions::statements() const {
  std::vector<sqlite3_stmt*> all;  // newest first
  for (sqlite3_stmt* each = nullptr; (each = sqlite3_next_stmt(db_, each)) != nullptr;) all.push_back(each);
  return all;
}

std::string Executions::tag() {
  just_opened_ = false;
  const auto all = statements();
  sqlite3_stmt* prepared = all.front();
  // Whoever had this address before is gone.
  std::erase_if(executions_, [&](const auto& entry) { return entry.first.first == prepared && entry.second.cursors == 0; });
  std::string tag = digits_of(prepared) + kSupposed;
  for (sqlite3_stmt* each : all) {
    if (const int times = times_prepared_anew(each); times > 0) {
      tag += digits_of(each) + ':' + std::to_string(times) + ',';
    }
  }
  return tag + '|';
}

const char* Executions::behind_tag(const char* plan) {
  return std::strchr(plan, '|') + 1;
}

/// The statement that runs a plan: the one it was made for, if that is running, else one that has taken a program over
/// since. Only its first scan may find several: then the former, which would otherwise be a coincidence of addresses.
sqlite3_stmt* Executions::running(const char* plan) const {
  sqlite3_stmt* supposed = statement_of(plan);
  if (plan[kDigits] == kKnown) return supposed;
  sqlite3_stmt* found = nullptr;
  for (sqlite3_stmt* each : statements()) {
    if (sqlite3_stmt_busy(each) == 0) continue;
    if (each == supposed) return supposed;
    if (found == nullptr && times_prepared_anew(each) > times_by_tag(plan, each)) found = each;
  }
  return found;
}

Execution& Executions::cursor_filtered(std::optional<ExecutionId>& cursor, const ScanOf& scan) {
  just_opened_ = false;
  if (!cursor) {
    sqlite3_stmt* statement = running(scan.plan);
    const ExecutionId id{statement, statement == nullptr ? 0 : runs(statement)};
    ++executions_[id].cursors;
    cursor = id;
    if (statement != nullptr) {
      auto* tag = const_cast<char*>(scan.plan);  // SQLite keeps for us what xBestIndex allocated
      std::memcpy(tag, digits_of(statement).data(), kDigits);
      tag[kDigits] = kKnown;
    }
  }
  Memory& memory = executions_[*cursor].memories[scan.table];
  if (memory.idle && memory.plans.contains(scan.plan)) memory = {};  // another firing of a trigger
  memory.idle = false;
  memory.lasts = scan.lasts;
  memory.plans.insert(scan.plan);
  return memory.content;
}

void Executions::cursor_closed(const std::optional<ExecutionId>& cursor) {
  if (cursor) --executions_[*cursor].cursors;
  if (!just_opened_) drop_finished();
  just_opened_ = false;
}

/// Whether the execution has ended; without memory, since it is asked while a cursor closes.
bool Executions::is_over(const ExecutionId& id) const {
  sqlite3_stmt* known = sqlite3_next_stmt(db_, nullptr);
  while (known != nullptr && known != id.first) known = sqlite3_next_stmt(db_, known);
  return known == nullptr || sqlite3_stmt_busy(known) == 0 || runs(known) != id.second;
}

void Executions::drop_finished() {
  for (auto entry = executions_.begin(); entry != executions_.end();) {
    auto& memories = entry->second.memories;
    const bool is_idle = entry->second.cursors == 0;
    if (is_idle) {
      std::erase_if(memories, [](const auto& each) { return !each.second.lasts; });
      for (auto& each : memories) each.second.idle = true;
    }
    const bool done = is_idle && (memories.empty() || is_over(entry->first));
    entry = done ? executions_.erase(entry) : std::next(entry);
  }
}

}  // namespace rpcroute::sqlite

// The columns that sql/schema.sql gives a table.
#pragma once

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace rpcroute::tests {

inline std::vector<std::string> columns_of(const std::string& table) {
  std::ifstream schema(RPCROUTE_SOURCE_DIR "/sql/schema.sql");
  std::vector<std::string> columns;
  bool inside = false;
  for (std::string line; std::getline(schema, line);) {
    if (inside && line.starts_with(")")) break;
    std::string word;
    std::istringstream(line) >> word;
    const bool is_name = !word.empty() && word.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string::npos;
    if (inside && is_name && line.starts_with("  ") && line[2] != ' ') columns.push_back(word);
    if (line.starts_with("CREATE TABLE IF NOT EXISTS " + table + " (")) inside = true;
  }
  if (columns.empty()) throw std::runtime_error("sql/schema.sql has no table " + table);
  return columns;
}

}  // namespace rpcroute::tests

#include "sqlite/error.hpp"

#include <system_error>

#include "text/words.hpp"

namespace rpcroute::sqlite {
namespace {

/// Bytes of the well-formed character that `text` begins with (Unicode, table 3-7); 0 when it begins with none.
std::size_t character_length(std::string_view text) {
  const auto at = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto within = [&](std::size_t i, unsigned low, unsigned high) { return at(i) >= low && at(i) <= high; };
  const auto continued = [&](std::size_t i) { return within(i, 0x80, 0xBF); };
  const unsigned lead = at(0);
  if (lead < 0x80) return 1;
  if (within(0, 0xC2, 0xDF)) return continued(1) ? 2 : 0;
  if (within(0, 0xE0, 0xEF)) {
    return within(1, lead == 0xE0 ? 0xA0 : 0x80, lead == 0xED ? 0x9F : 0xBF) && continued(2) ? 3 : 0;
  }
  if (within(0, 0xF0, 0xF4)) {
    return within(1, lead == 0xF0 ? 0x90 : 0x80, lead == 0xF4 ? 0x8F : 0xBF) && continued(2) && continued(3) ? 4 : 0;
  }
  return 0;
}

/// What the exception says, in English: the words of a std::system_error are those of the host's language.
std::string words_of(const std::exception& error) {
  const auto* system = dynamic_cast<const std::system_error*>(&error);
  return system == nullptr ? error.what() : text::system_words(system->code().value());
}

/// A message may quote what the user gave, and clients such as Python's fail on a message that is not UTF-8.
std::string as_utf8(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    result += length == 0 ? std::string_view("\xEF\xBF\xBD") : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result;
}

}  // namespace

Outcome current_outcome(std::string_view name) noexcept {
  try {
    throw;
  } catch (const Interruption&) {
    return {SQLITE_INTERRUPT, {}};
  } catch (const std::bad_alloc&) {
    return {SQLITE_NOMEM, {}};
  } catch (const SqlError& error) {
    if (error.code == SQLITE_INTERRUPT) return {SQLITE_INTERRUPT, {}};
    if (error.code == SQLITE_NOMEM || error.code == SQLITE_IOERR_NOMEM) return {SQLITE_NOMEM, {}};
    try {
      return {SQLITE_ERROR, std::string(name) + ": " + as_utf8(error.what())};
    } catch (...) {
      return {SQLITE_NOMEM, {}};
    }
  } catch (const std::exception& error) {
    try {
      return {SQLITE_ERROR, std::string(name) + ": " + as_utf8(words_of(error))};
    } catch (...) {
      return {SQLITE_NOMEM, {}};
    }
  } catch (...) {
    return {SQLITE_ERROR, {}};
  }
}

void report(sqlite3_context* context, const Outcome& outcome) noexcept {
  if (outcome.code == SQLITE_OK) return;
  if (outcome.code == SQLITE_NOMEM) return sqlite3_result_error_nomem(context);
  if (!outcome.message.empty()) {
    sqlite3_result_error(context, outcome.message.data(), static_cast<int>(outcome.message.size()));
  }
  if (outcome.message.empty() || outcome.code != SQLITE_ERROR) sqlite3_result_error_code(context, outcome.code);
}

int report(char** message, const Outcome& outcome) noexcept {
  if (outcome.code == SQLITE_OK || outcome.message.empty()) return outcome.code;
  sqlite3_free(*message);
  *message = sqlite3_mprintf("%s", outcome.message.c_str());
  return *message == nullptr ? SQLITE_NOMEM : outcome.code;
}

int report(sqlite3_vtab* table, const Outcome& outcome) noexcept {
  return report(&table->zErrMsg, outcome);
}

}  // namespace rpcroute::sqlite

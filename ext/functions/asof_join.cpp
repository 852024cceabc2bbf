// asof_join(source, by, time, key, at [, tolerance [, match]]): the row that was current for a key at a moment.
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "align/asof.hpp"
#include "functions/asof_source.hpp"
#include "functions/functions.hpp"
#include "sqlite/stored_call.hpp"

namespace rpcroute::functions {
namespace {

std::string name_argument(const char* argument, sqlite::Value value) {
  if (value.is_text()) return std::string(value.text());
  throw sqlite::Error(std::string(argument) + " must be a name, got " + sqlite::quoted(value));
}

/// One history of one execution: as it was when first asked, or nearly so. A few questions are answered through an
/// index of the source, if it has one; more are worth reading and sorting all of it, which costs 0.1 µs a row.
class History {
 public:
  struct Names {
    std::string source;
    std::optional<std::string> by;
    std::string time;
  };

  History(sqlite::Connection& connection, Names names)
      : connection_(connection),
        names_(std::move(names)),
        source_(connection, names_.source),
        lookup_(source_, names_.by, names_.time) {}

  bool is(sqlite::Value source, sqlite::Value by, sqlite::Value time) const {
    return source.is_text() && time.is_text() && names_.by.has_value() == by.is_text() &&
           source.text() == names_.source && time.text() == names_.time && (!names_.by || by.text() == *names_.by);
  }

  /// `key` and `at` are the values that `question` was made of.
  std::optional<std::int64_t> find(const align::AsofQuestion& question, sqlite::Value key, sqlite::Value at) {
    const AsofNesting nesting(connection_);
    const bool or_at = question.match == align::Match::before_or_at;
    if ((or_at || question.match == align::Match::before) && may_look_up()) {
      const auto row = lookup_.last_before(key, at, or_at);
      if (!row || !align::within(question.tolerance, row->time, question.at)) return std::nullopt;
      return row->rowid;
    }
    if (!all_) all_ = read();
    const auto row = all_->find(question);
    return row ? std::optional(all_->index().rowid(*row)) : std::nullopt;
  }

 private:
  static constexpr int kMostLookups = 64;

  bool may_look_up() {
    if (!lookups_left_) lookups_left_ = lookup_.has_index() ? kMostLookups : 0;
    if (all_ || *lookups_left_ == 0) return false;
    --*lookups_left_;
    return true;
  }

  AsofHistory read() const {
    AsofSource::Reader rows(source_, names_.by, names_.time);
    AsofHistory::Builder builder;
    while (rows.step()) builder.add(rows);
    return std::move(builder).build(connection_.pulse());
  }

  sqlite::Connection& connection_;
  Names names_;
  AsofSource source_;
  AsofSource::Lookup lookup_;
  std::optional<int> lookups_left_;
  std::optional<AsofHistory> all_;
};

/// The histories that one execution asks, shared by all its calls.
class Histories {
 public:
  void refuse_stored_calls(sqlite::Connection& connection) {
    if (!is_called_directly_) sqlite::refuse_stored_calls(connection, "asof_join");
    is_called_directly_ = true;
  }

  History& find(sqlite::Connection& connection, sqlite::Value source, sqlite::Value by, sqlite::Value time) {
    for (const auto& history : histories_) {
      if (history->is(source, by, time)) return *history;
    }
    History::Names names{name_argument("source", source), std::nullopt, name_argument("time", time)};
    if (!by.is_null()) names.by = name_argument("by", by);
    return *histories_.emplace_back(std::make_unique<History>(connection, std::move(names)));
  }

 private:
  bool is_called_directly_ = false;
  std::vector<std::unique_ptr<History>> histories_;
};

struct AsofJoin {
  static sqlite::FunctionSpec spec() {
    return {
        .name = "asof_join",
        .arities = {5, 6, 7},
        .reach = sqlite::Reach::reads,
        .doc = {"asof_join(source, by, time, key, at [, tolerance [, match]])",
                "The rowid of the row of table or view source whose column by equals key and whose column time is the "
                "nearest to at that satisfies time MATCH at: '<' (default), '<=', '>', '>=' or 'nearest' (the earlier "
                "one on a tie). tolerance is inclusive, NULL or absent is no limit. by = NULL: no key. Among equal "
                "times the highest rowid wins; a NULL key or time matches nothing, NULL when nothing matches. Times "
                "are INTEGER or REAL; a text or blob under the key asked for is an error. Keys compare like = without "
                "affinity and collation. Reads source once for each execution of the statement or trigger; a few "
                "look-ups use an index on (by, time) instead.",
                "SELECT asof_join('rpc_metrics', 'provider_id', 'timestamp', 'infura', unixepoch(), 900)"}};
  }

  static void call(sqlite::Call& call, sqlite::Arguments arguments) {
    auto& histories = call.per_execution<Histories>();
    histories.refuse_stored_calls(call.connection());
    const auto tolerance = arguments.size() > 5 ? tolerance_argument(arguments[5]) : std::nullopt;
    const auto match = arguments.size() > 6 ? match_argument(arguments[6]) : align::Match::before;
    const auto key = arguments[1].is_null() ? no_key() : key_argument(arguments[3]);
    const auto at = time_argument("at", arguments[4]);
    // The names first: no NULL hides a wrong one.
    History& history = histories.find(call.connection(), arguments[0], arguments[1], arguments[2]);
    if (!key || !at) return;
    call.result().set(history.find({*key, *at, match, tolerance}, arguments[3], arguments[4]));
  }
};

}  // namespace

sqlite::Function asof_join() {
  return sqlite::scalar<AsofJoin>();
}

}  // namespace rpcroute::functions

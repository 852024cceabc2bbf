// asof_join(source, by, time, key, at [, tolerance [, match]]): the row that was current for a key at a moment.
#include <memory>
#include <string>
#include <vector>

#include "align/asof.hpp"
#include "functions/asof_source.hpp"
#include "functions/functions.hpp"

namespace rpcroute::functions {
namespace {

std::string name_argument(const char* argument, sqlite::Value value) {
  if (value.is_text()) return std::string(value.text());
  throw sqlite::Error(std::string(argument) + " must be a name, got " + sqlite::quoted(value));
}

align::AsofIndex read_history(sqlite::Connection& connection, const std::string& source,
                              const std::optional<std::string>& by, const std::string& time) {
  const AsofSource history(connection, source);
  AsofSource::Reader rows(history, by, time);
  align::AsofIndex::Builder builder;
  while (rows.step()) {
    const auto key = rows.key();
    const auto at = rows.time();
    if (key && at) builder.add(*key, *at, rows.rowid());
  }
  return std::move(builder).build();
}

/// The histories one execution has read: as they were when it first asked, shared by all its calls.
class Histories {
 public:
  const align::AsofIndex& find(sqlite::Connection& connection, sqlite::Value source, sqlite::Value by,
                               sqlite::Value time) {
    for (const auto& history : histories_) {
      if (history->is(source, by, time)) return history->index;
    }
    auto history = std::make_unique<History>();
    history->source = name_argument("source", source);
    if (!by.is_null()) history->by = name_argument("by", by);
    history->time = name_argument("time", time);
    history->index = read_history(connection, history->source, history->by, history->time);
    return histories_.emplace_back(std::move(history))->index;
  }

 private:
  struct History {
    std::string source;
    std::optional<std::string> by;
    std::string time;
    align::AsofIndex index;

    bool is(sqlite::Value other_source, sqlite::Value other_by, sqlite::Value other_time) const {
      return other_source.is_text() && other_time.is_text() && by.has_value() == other_by.is_text() &&
             other_source.text() == source && other_time.text() == time && (!by || other_by.text() == *by);
    }
  };
  std::vector<std::unique_ptr<History>> histories_;
};

struct AsofJoin {
  // Slots are the statement's, not the function's: no other function may use this one.
  static constexpr int kHistoriesSlot = 10;

  static sqlite::FunctionSpec spec() {
    return {
        .name = "asof_join",
        .arities = {5, 6, 7},
        .doc = {"asof_join(source, by, time, key, at [, tolerance [, match]])",
                "The rowid of the row of table or view source whose column by equals key and whose column time is the "
                "nearest to at that satisfies time MATCH at: '<' (default), '<=', '>', '>=' or 'nearest' (the earlier "
                "one on a tie). tolerance is inclusive, NULL or absent is no limit. by = NULL: no key. Among equal "
                "times the highest rowid wins; a NULL key or time matches nothing, NULL when nothing matches. Times "
                "are INTEGER or REAL. Keys compare like = without affinity and collation. Reads source once for each "
                "execution of the statement.",
                "SELECT asof_join('rpc_metrics', 'provider_id', 'timestamp', 'infura', unixepoch(), 900)"}};
  }

  static void call(sqlite::Call& call, sqlite::Arguments arguments) {
    const auto tolerance = arguments.size() > 5 ? tolerance_argument(arguments[5]) : std::nullopt;
    const auto match = arguments.size() > 6 ? match_argument(arguments[6]) : align::Match::before;
    const auto key = arguments[1].is_null() ? no_key() : key_argument(arguments[3]);
    const auto at = time_argument("at", arguments[4]);
    if (!key || !at) return;
    auto histories = call.shared<Histories>(kHistoriesSlot);
    if (histories == nullptr) {
      call.share(kHistoriesSlot, std::make_shared<Histories>());
      histories = call.shared<Histories>(kHistoriesSlot);
      if (histories == nullptr) throw std::bad_alloc();
    }
    const auto& index = histories->find(call.connection(), arguments[0], arguments[1], arguments[2]);
    if (const auto row = index.find({*key, *at, match, tolerance})) call.result().set(index.rowid(*row));
  }
};

}  // namespace

sqlite::Function asof_join() {
  return sqlite::scalar<AsofJoin>();
}

}  // namespace rpcroute::functions

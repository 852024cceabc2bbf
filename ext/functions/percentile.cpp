// percentile(Y, P), median(Y), weighted_percentile(Y, W, P).
//
// percentile and median follow the requirements of SQLite's own extension (ext/misc/percentile.c), cited by number.
#include "align/percentile.hpp"

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "functions/align_argument.hpp"
#include "functions/functions.hpp"
#include "sqlite/number.hpp"

namespace rpcroute::functions {
namespace {

/// The one P of a group.
class Percent {
 public:
  void read(sqlite::Value value) {
    // Requirement 3. Text that reads as a number is one.
    const double percent = sqlite::number_argument("P", value, 0, 100, "a number of 0..100");
    // Requirement 2: "same" means to within 0.001.
    if (percent_ && std::abs(*percent_ - percent) > 0.001) {
      throw sqlite::Error("P must be the same for all rows, got " + sqlite::quoted(value));
    }
    if (!percent_) percent_ = percent;
  }
  double value() const { return percent_.value_or(0.0); }

 private:
  std::optional<double> percent_;
};

/// A finite number; nullopt for NULL. Requirements 4 and 5.
std::optional<double> finite_argument(const char* name, sqlite::Value value) {
  if (value.is_null()) return std::nullopt;
  if (!value.is_number() || !std::isfinite(value.real())) {
    throw sqlite::Error(std::string(name) + " must be a finite number or NULL, got " + sqlite::quoted(value));
  }
  return value.real();
}

class Percentile {
 public:
  static sqlite::FunctionSpec spec() {
    return {.name = "percentile",
            .arities = {2},
            .deterministic = true,
            .doc = {"percentile(Y, P)",
                    "The P-th percentile (0..100) of Y with linear interpolation, as SQLite's percentile extension "
                    "defines it. NULLs are skipped; NULL when no row is left. Other text, infinities and a P that "
                    "changes are errors.",
                    "SELECT percentile(value, 95) FROM json_each('[12, 13, 14, 60]')"}};
  }

  void step(sqlite::Call&, sqlite::Arguments arguments) {
    percent_.read(arguments[1]);
    if (const auto y = finite_argument("Y", arguments[0])) sample_.add(*y);
  }
  void inverse(sqlite::Call&, sqlite::Arguments arguments) {
    if (const auto y = finite_argument("Y", arguments[0])) sample_.remove(*y);
  }
  void value(sqlite::Call& call) { call.result().set(sample_.percentile(percent_.value(), call.connection().pulse())); }
  void finish(sqlite::Call& call) { value(call); }

 private:
  Percent percent_;
  align::Sample sample_;
};

class Median {
 public:
  static sqlite::FunctionSpec spec() {
    return {.name = "median",
            .arities = {1},
            .deterministic = true,
            .doc = {"median(Y)", "percentile(Y, 50).", "SELECT median(value) FROM json_each('[12, 13, 14, 60]')"}};
  }

  void step(sqlite::Call&, sqlite::Arguments arguments) {
    if (const auto y = finite_argument("Y", arguments[0])) sample_.add(*y);
  }
  void inverse(sqlite::Call&, sqlite::Arguments arguments) {
    if (const auto y = finite_argument("Y", arguments[0])) sample_.remove(*y);
  }
  void value(sqlite::Call& call) { call.result().set(sample_.percentile(50.0, call.connection().pulse())); }
  void finish(sqlite::Call& call) { value(call); }

 private:
  align::Sample sample_;
};

class WeightedPercentile {
 public:
  static sqlite::FunctionSpec spec() {
    return {.name = "weighted_percentile",
            .arities = {3},
            .deterministic = true,
            .doc = {"weighted_percentile(Y, W, P)",
                    "The smallest Y whose cumulative share of the weight W reaches P percent (0..100): the inverse of "
                    "the weighted distribution, without interpolation. Rows with a NULL Y or W are skipped, rows of "
                    "weight 0 do not count; NULL when nothing has weight. A negative weight, an infinity or a P that "
                    "changes is an error.",
                    "SELECT weighted_percentile(column1, column2, 50) FROM (VALUES (12, 4), (13, 1), (60, 2))"}};
  }

  void step(sqlite::Call&, sqlite::Arguments arguments) {
    percent_.read(arguments[2]);
    const auto y = finite_argument("Y", arguments[0]);
    const auto weight = finite_argument("W", arguments[1]);
    if (weight && *weight < 0.0) throw sqlite::Error("W must be 0 or more, got " + sqlite::quoted(arguments[1]));
    if (y && weight) sample_.push_back({*y, *weight});
  }
  void finish(sqlite::Call& call) {
    call.result().set(align::weighted_percentile(sample_, percent_.value(), call.connection().pulse()));
  }

 private:
  Percent percent_;
  std::vector<align::Weighted> sample_;
};

}  // namespace

sqlite::Function percentile() {
  return sqlite::aggregate<Percentile>();
}

sqlite::Function median() {
  return sqlite::aggregate<Median>();
}

sqlite::Function weighted_percentile() {
  return sqlite::aggregate<WeightedPercentile>();
}

}  // namespace rpcroute::functions

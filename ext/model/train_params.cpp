// The parameters of training: names, aliases, ranges.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "model/limits.hpp"
#include "model/train.hpp"
#include "text/json.hpp"

namespace rpcroute::model {
namespace {

using text::Json;

/// A number with its bounds; an open lower bound is itself refused.
struct Range {
  std::string_view name;   ///< XGBoost's canonical name
  std::string_view alias;  ///< another name for the same, or empty
  bool whole;
  bool open;
  double least;
  double most;
};

constexpr double big = 1e9;
constexpr std::array ranges{
    Range{"learning_rate", "eta", false, true, 0, 1},
    Range{"max_depth", "", true, false, 1, 32},
    Range{"max_leaves", "", true, false, 0, 65536},
    Range{"max_bin", "", true, false, 2, 65536},
    Range{"subsample", "", false, true, 0, 1},
    Range{"colsample_bytree", "", false, true, 0, 1},
    Range{"colsample_bylevel", "", false, true, 0, 1},
    Range{"colsample_bynode", "", false, true, 0, 1},
    Range{"min_child_weight", "", false, false, 0, big},
    Range{"gamma", "min_split_loss", false, false, 0, big},
    Range{"lambda", "reg_lambda", false, false, 0, big},
    Range{"alpha", "reg_alpha", false, false, 0, big},
    Range{"max_delta_step", "", false, false, 0, big},
    Range{"scale_pos_weight", "", false, true, 0, big},
    Range{"num_parallel_tree", "", true, false, 1, 1000},
    Range{"tweedie_variance_power", "", false, true, 1, 1.999},
    Range{"huber_slope", "", false, true, 0, big},
    Range{"seed", "random_state", true, false, 0, 2147483647},
    Range{"num_round", "n_estimators", true, false, 1, 100000},
    Range{"nthread", "n_jobs", true, false, 1, 256},
    Range{"base_score", "", false, false, -big, big},
};

struct Choice {
  std::string_view name;
  std::vector<std::string_view> values;
};

const std::vector<Choice>& choices() {
  static const std::vector<Choice> list{
      {"objective",
       {"reg:squarederror", "reg:absoluteerror", "reg:pseudohubererror", "reg:squaredlogerror", "reg:gamma",
        "reg:tweedie", "reg:logistic", "count:poisson", "binary:logistic", "binary:logitraw"}},
      {"tree_method", {"hist", "approx", "exact"}},
      {"grow_policy", {"depthwise", "lossguide"}},
      {"booster", {"gbtree"}},
  };
  return list;
}

/// Shortest decimal that reads back as the same number, whole numbers without an exponent.
std::string shortest(double number) {
  if (number == std::floor(number) && std::abs(number) < 1e15) return std::to_string(static_cast<long long>(number));
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  return {text.data(), end};
}

std::string joined(const std::vector<std::string_view>& words) {
  std::string text;
  for (const auto word : words) text += (text.empty() ? "" : ", ") + std::string(word);
  return text;
}

std::string shown(const Json& value) {
  if (const auto number = value.real()) return shortest(*number);
  if (value.is_text()) return "'" + std::string(value.text().substr(0, 60)) + "'";
  if (value.is_array()) return "an array";
  return value.is_object() ? "an object" : std::string(value.source().substr(0, 60));
}

[[noreturn]] void refuse(std::string_view name, const std::string& accepted, const std::string& given) {
  throw std::invalid_argument("parameter " + std::string(name) + ": accepted is " + accepted + ", got " + given);
}

double number_within(const Range& range, std::string_view name, const Json& value) {
  const std::string kind = range.whole ? "a whole number " : "a number ";
  const std::string accepted = kind + (range.open ? "above " : "from ") + shortest(range.least) +
                               (range.open ? " up to " : " to ") + shortest(range.most);
  if (!value.real()) refuse(name, accepted, shown(value));
  const double number = *value.real();
  const bool above = range.open ? number > range.least : number >= range.least;
  if (!above || !(number <= range.most)) refuse(name, accepted, shown(value));
  if (range.whole && number != std::floor(number)) refuse(name, accepted, shown(value));
  return number;
}

std::string one_of(const Choice& choice, const Json& value) {
  const std::string_view text = value.text();
  if (std::find(choice.values.begin(), choice.values.end(), text) != choice.values.end()) return std::string(text);
  refuse(choice.name, (choice.values.size() == 1 ? "" : "one of ") + joined(choice.values), shown(value));
}

std::vector<std::string> feature_names(const Json& value) {
  const std::string accepted = "an array of 1 to " + std::to_string(limits::features) + " different names";
  std::vector<std::string> names;
  for (const Json name : value.elements()) {
    if (name.text().empty()) refuse("features", accepted, shown(name) + " among them");
    names.emplace_back(name.text());
    if (names.size() > limits::features) refuse("features", accepted, shown(value));
    // XGBoost takes C strings, and refuses these characters in a name when it reads its own text formats.
    const auto bad = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '[' || c == ']' || c == '<'; };
    if (std::any_of(names.back().begin(), names.back().end(), bad)) {
      refuse("features", "names without control characters, [, ] and <", shown(name));
    }
  }
  if (names.empty()) refuse("features", accepted, shown(value));
  if (std::set<std::string>(names.begin(), names.end()).size() != names.size()) {
    refuse("features", accepted, "a name twice");
  }
  return names;
}

/// One of -1, 0, 1 per feature.
using Constraints = std::vector<int>;

int constraint(const Json& value) {
  const auto direction = value.integer();
  if (!direction || *direction < -1 || *direction > 1) {
    refuse("monotone_constraints", "-1, 0 or 1 for a feature", shown(value));
  }
  return static_cast<int>(*direction);
}

Constraints constraints_by_name(const Json& object, const std::vector<std::string>& features) {
  Constraints constraints(features.size(), 0);
  std::map<std::string_view, std::size_t> position;
  for (std::size_t i = 0; i < features.size(); ++i) position.emplace(features[i], i);
  for (const text::JsonMember& member : object.members()) {
    const auto feature = position.find(member.name);
    if (feature == position.end()) refuse("monotone_constraints", "names of `features`", shown(member.key));
    constraints[feature->second] = constraint(member.value);
  }
  return constraints;
}

/// XGBoost's own spelling, "(0,1)".
Constraints constraints_from_text(std::string_view text) {
  std::string array(text);
  const bool enclosed = array.size() >= 2 && array.front() == '(' && array.back() == ')';
  if (enclosed) {
    array.front() = '[';
    array.back() = ']';
  }
  const text::JsonTree tree(array);
  if (!enclosed || !tree.root().is_array()) {
    refuse("monotone_constraints", "text like '(0,1)'", "'" + std::string(text.substr(0, 60)) + "'");
  }
  Constraints constraints;
  for (const Json value : tree.root().elements()) constraints.push_back(constraint(value));
  return constraints;
}

std::string monotone_constraints(const Json& value, const std::vector<std::string>& features) {
  Constraints constraints;
  if (value.is_array()) {
    for (const Json element : value.elements()) constraints.push_back(constraint(element));
  } else if (value.is_object()) {
    constraints = constraints_by_name(value, features);
  } else if (value.is_text()) {
    constraints = constraints_from_text(value.text());
  } else {
    refuse("monotone_constraints", "an array, an object by feature name, or text like '(0,1)'", shown(value));
  }
  if (constraints.size() != features.size()) {
    refuse("monotone_constraints", "one for each of the " + std::to_string(features.size()) + " features",
           std::to_string(constraints.size()));
  }
  std::string text = "(";
  for (const int direction : constraints) text += (text.size() > 1 ? "," : "") + std::to_string(direction);
  return text + ")";
}

std::string accepted_names() {
  std::string names = "features, monotone_constraints";
  for (const Choice& choice : choices()) names += ", " + std::string(choice.name);
  for (const Range& range : ranges) {
    names += ", " + std::string(range.name);
    if (!range.alias.empty()) names += " (" + std::string(range.alias) + ")";
  }
  return names;
}

/// Takes one parameter; returns its canonical name.
std::string_view take(TrainParams& params, std::string_view name, const Json& value) {
  for (const Range& range : ranges) {
    if (name != range.name && name != range.alias) continue;
    const double number = number_within(range, name, value);
    if (range.name == "num_round") {
      params.rounds = static_cast<int>(number);
    } else if (range.name == "nthread") {
      params.threads = static_cast<int>(number);
    } else if (range.name == "base_score") {
      params.base_score = number;
    } else {
      params.settings.emplace_back(range.name, shortest(number));
    }
    return range.name;
  }
  for (const Choice& choice : choices()) {
    if (name != choice.name) continue;
    const std::string chosen = one_of(choice, value);
    if (choice.name == "objective") {
      params.objective = chosen;
    } else {
      params.settings.emplace_back(choice.name, chosen);
    }
    return choice.name;
  }
  if (name == "num_boost_round") return take(params, "num_round", value);
  if (name == "monotone_constraints") {
    params.settings.emplace_back(name, monotone_constraints(value, params.features));
    return "monotone_constraints";
  }
  if (name == "verbosity") throw std::invalid_argument("parameter verbosity: training prints nothing, leave it out");
  throw std::invalid_argument("unknown parameter '" + std::string(name.substr(0, 60)) + "'; known are " +
                              accepted_names());
}

}  // namespace

TrainParams parse_params(std::string_view json) {
  const text::JsonTree tree(json);
  const Json object = tree.root();
  if (!object.is_object()) {
    throw std::invalid_argument("params must be a JSON object such as {\"features\": [\"latency_ms\", \"block_lag\"]}");
  }
  TrainParams params;
  if (object["features"].is(text::JsonType::absent)) {
    throw std::invalid_argument("parameter features is missing: an array with the names of the features");
  }
  params.features = feature_names(object["features"]);

  std::set<std::string_view> taken;
  for (const text::JsonMember& member : object.members()) {
    const std::string_view name = member.name;
    const std::string_view canonical = name == "features" ? name : take(params, name, member.value);
    if (!taken.insert(canonical).second) {
      throw std::invalid_argument("parameter " + std::string(canonical) + " is given twice, once as " +
                                  std::string(name));
    }
  }
  if (!taken.contains("tree_method")) params.settings.emplace_back("tree_method", "hist");
  std::sort(params.settings.begin(), params.settings.end());
  return params;
}

}  // namespace rpcroute::model

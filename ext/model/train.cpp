#include "model/train.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>

#include "model/booster.hpp"
#include "model/limits.hpp"
#include "model/objective.hpp"
#include "model/train_demand.hpp"
#include "model/worker.hpp"
#include "model/xgboost_library.hpp"

namespace rpcroute::model {
namespace {

/// Order of float32 as order of integers. All NaN are one value, and so are both zeros.
std::uint32_t sort_key(float value) {
  if (std::isnan(value)) return 0xFFFFFFFF;
  const auto bits = std::bit_cast<std::uint32_t>(value + 0.0F);
  return bits & 0x80000000 ? ~bits : bits | 0x80000000;
}

/// Rows in the order of their features, then labels. Equal rows are interchangeable, so the order of the input is gone.
class CanonicalOrder {
 public:
  CanonicalOrder(const TrainingRows& rows, text::Budget& budget)
      : rows_(rows), budget_(budget), order_(rows.label.size()) {
    for (std::size_t row = 0; row < order_.size(); ++row) {
      order_[row] = {(std::uint64_t{key(row, 0)} << 32) | key(row, 1), static_cast<std::uint32_t>(row)};
    }
    std::sort(order_.begin(), order_.end(), [this](const Entry& a, const Entry& b) { return less(a, b); });
  }

  TrainingRows sorted() const {
    TrainingRows sorted;
    sorted.width = rows_.width;
    sorted.label.reserve(rows_.label.size());
    sorted.features.reserve(rows_.features.size());
    for (const Entry& entry : order_) {
      budget_.steps(rows_.width);
      sorted.label.push_back(rows_.label[entry.row]);
      const float* const features = rows_.features.data() + entry.row * rows_.width;
      sorted.features.insert(sorted.features.end(), features, features + rows_.width);
    }
    return sorted;
  }

 private:
  struct Entry {
    std::uint64_t leading;  ///< keys of the first two columns; they decide nearly every comparison
    std::uint32_t row;
  };

  std::uint32_t key(std::size_t row, std::size_t column) const {
    return sort_key(column < rows_.width ? rows_.features[row * rows_.width + column] : rows_.label[row]);
  }
  bool less(const Entry& a, const Entry& b) const {
    budget_.step();
    if (a.leading != b.leading) return a.leading < b.leading;
    for (std::size_t column = 2; column <= rows_.width; ++column) {
      const auto left = key(a.row, column);
      const auto right = key(b.row, column);
      if (left != right) return left < right;
    }
    return false;
  }

  const TrainingRows& rows_;
  text::Budget& budget_;
  std::vector<Entry> order_;
};

void require_labels(const TrainingRows& rows, const std::string& objective) {
  const auto require = [&](bool (*accepted)(float), const char* range) {
    const auto bad = std::find_if_not(rows.label.begin(), rows.label.end(), accepted);
    if (bad == rows.label.end()) return;
    throw std::invalid_argument("objective " + objective + ": labels must be " + range + ", got " +
                                std::to_string(*bad));
  };
  if (objective == "reg:gamma") require([](float y) { return y > 0; }, "above 0");
  if (objective == "reg:tweedie" || objective == "count:poisson") require([](float y) { return y >= 0; }, "0 or more");
  if (objective == "reg:squaredlogerror") require([](float y) { return y > -1; }, "above -1");
  if (objective.starts_with("binary:") || objective == "reg:logistic") {
    require([](float y) { return y >= 0 && y <= 1; }, "from 0 to 1");
  }
}

double mean(const std::vector<float>& labels) {
  return std::accumulate(labels.begin(), labels.end(), 0.0) / static_cast<double>(labels.size());
}

double median(std::vector<float> labels) {
  const auto middle = labels.begin() + static_cast<std::ptrdiff_t>(labels.size() / 2);
  std::nth_element(labels.begin(), middle, labels.end());
  return *middle;
}

double intercept(const TrainingRows& sorted, const std::string& objective) {
  if (objective == "reg:absoluteerror") return median(sorted.label);
  const double average = mean(sorted.label);
  if (objective == "binary:logitraw" || link_of(objective) == Link::logistic) {
    const double probability = std::clamp(average, 1e-6, 1 - 1e-6);
    return objective == "binary:logitraw" ? std::log(probability / (1 - probability)) : probability;
  }
  if (link_of(objective) == Link::log && average <= 0) return 1e-6;  // all labels are 0
  return average;
}

std::string base_score_text(const TrainingRows& sorted, const TrainParams& params) {
  const auto score = static_cast<float>(params.base_score ? *params.base_score : intercept(sorted, params.objective));
  if (!base_margin(*link_of(params.objective), score)) {
    throw std::invalid_argument("parameter base_score: " + std::to_string(score) + " lies outside the domain of " +
                                params.objective);
  }
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), score).ptr};
}

/// Everything of one training, owned by the tasks of its worker.
struct Training {
  TrainingRows rows;
  TrainParams params;
  std::string base_score;
  std::optional<Matrix> matrix;
  std::optional<Booster> booster;
  std::string model;

  void begin(int) {
    quiet_this_thread();
    matrix.emplace(rows.features, rows.width, params.threads);
    matrix->set_label(rows.label);
    booster.emplace(*matrix);
    booster->set("nthread", std::to_string(params.threads));
    booster->set("objective", params.objective);
    booster->set("base_score", base_score);
    for (const auto& [name, value] : params.settings) booster->set(name, value);
    booster->set_feature_names(params.features);
  }
  void update(int round) { booster->update(round, *matrix); }
  /// A model that predict_confirm() would not read is not worth its memory.
  void save(int) {
    model = booster->save_json();
    if (model.size() <= params.most_bytes) return;
    throw std::invalid_argument("the model has grown beyond the " + std::to_string(params.most_bytes) +
                                " bytes that are read: lower num_round, max_depth or max_leaves");
  }
};

}  // namespace

void TrainingRows::add(double label_value, std::span<const double> feature_values) {
  const auto narrow = static_cast<float>(label_value);
  if (!std::isfinite(narrow)) throw std::invalid_argument("a label is not a finite number in single precision");
  for (const double value : feature_values) {
    const float feature = static_cast<float>(value) + 0.0F;
    if (std::isinf(feature)) throw std::invalid_argument("a feature is not a finite number in single precision");
    features.push_back(feature);
  }
  label.push_back(narrow);
}

std::string train(const TrainingRows& rows, const TrainParams& params, text::Budget& budget,
                  const TrainProgress& progress) {
  if (rows.label.empty()) throw std::invalid_argument("no rows to train on");
  if (rows.label.size() > 0xFFFFFFFF) throw std::invalid_argument("more than 4,294,967,295 rows");
  if (rows.width != params.features.size() || rows.features.size() != rows.label.size() * rows.width) {
    throw std::invalid_argument("the rows have " + std::to_string(rows.width) + " features, `features` names " +
                                std::to_string(params.features.size()));
  }
  require_labels(rows, params.objective);

  const TrainDemand demand = demand_of(rows, params);
  require_modest(demand, params);

  const auto training = std::make_shared<Training>();
  training->rows = CanonicalOrder(rows, budget).sorted();
  training->params = params;
  training->base_score = base_score_text(training->rows, params);

  Worker worker;  // one thread for all of it: XGBoost keeps its random numbers per thread
  const auto pulse = [&] { budget.steps(text::Budget::steps_between_pulses); };
  const auto run = [&](void (Training::*task)(int), int round) {
    pulse();
    worker.run([training, task, round] { (*training.*task)(round); }, pulse);
  };
  run(&Training::begin, 0);
  std::uint64_t nodes = 0;
  std::uint64_t next_look = params.most_bytes / limits::json_node_bytes;
  for (int round = 0; round < params.rounds; ++round) {
    run(&Training::update, round);
    if (progress) progress(round + 1, params.rounds);
    nodes += demand.trees * demand.nodes;
    if (nodes < next_look) continue;
    run(&Training::save, round);  // and after twice as many again
    next_look = 2 * nodes;
  }
  run(&Training::save, params.rounds);
  return std::move(training->model);
}

}  // namespace rpcroute::model

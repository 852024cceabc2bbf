#include "model/train.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "model/booster.hpp"
#include "model/objective.hpp"
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
  explicit CanonicalOrder(const TrainingRows& rows) : rows_(rows), order_(rows.label.size()) {
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
    if (a.leading != b.leading) return a.leading < b.leading;
    for (std::size_t column = 2; column <= rows_.width; ++column) {
      const auto left = key(a.row, column);
      const auto right = key(b.row, column);
      if (left != right) return left < right;
    }
    return false;
  }

  const TrainingRows& rows_;
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

void configure(Booster& booster, const TrainParams& params, const std::string& base_score) {
  booster.set("nthread", std::to_string(params.threads));
  booster.set("objective", params.objective);
  booster.set("base_score", base_score);
  for (const auto& [name, value] : params.settings) booster.set(name, value);
  booster.set_feature_names(params.features);
}

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

std::string train(const TrainingRows& rows, const TrainParams& params, const TrainCallbacks& callbacks) {
  if (rows.label.empty()) throw std::invalid_argument("no rows to train on");
  if (rows.label.size() > 0xFFFFFFFF) throw std::invalid_argument("more than 4,294,967,295 rows");
  if (rows.width != params.features.size() || rows.features.size() != rows.label.size() * rows.width) {
    throw std::invalid_argument("the rows have " + std::to_string(rows.width) + " features, `features` names " +
                                std::to_string(params.features.size()));
  }
  require_labels(rows, params.objective);

  const TrainingRows sorted = CanonicalOrder(rows).sorted();
  const std::string base_score = base_score_text(sorted, params);

  // Everything of one training happens on one thread: XGBoost keeps its random numbers per thread.
  Worker worker;
  std::optional<Matrix> matrix;
  std::optional<Booster> booster;
  worker.run([&] {
    quiet_this_thread();
    matrix.emplace(sorted.features, sorted.width, params.threads);
    matrix->set_label(sorted.label);
    booster.emplace(*matrix);
    configure(*booster, params, base_score);
  });
  for (int round = 0; round < params.rounds; ++round) {
    if (callbacks.interrupted && callbacks.interrupted()) throw Interrupted();
    worker.run([&] { booster->update(round, *matrix); });
    if (callbacks.progress) callbacks.progress(round + 1, params.rounds);
  }
  std::string model;
  worker.run([&] { model = booster->save_json(); });
  return model;
}

}  // namespace rpcroute::model

#include "model/self_check.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "model/check_rows.hpp"
#include "model/error.hpp"
#include "model/library_forest.hpp"
#include "model/limits.hpp"
#include "model/xgboost_library.hpp"

namespace rpcroute::model {
namespace {

/// Collects rows and compares them together, since XGBoost is slow on single ones.
class Comparison {
 public:
  Comparison(const Forest& forest, const Evaluator& evaluator, text::Budget& budget)
      : evaluator_(evaluator),
        budget_(budget),
        library_(
            forest, [](const Tree& tree) { return 1 + std::uint64_t{tree.depth()}; }, budget),
        features_(forest.num_feature, std::numeric_limits<double>::quiet_NaN()) {}

  /// Of one row.
  std::uint64_t steps() const { return library_.width() + library_.steps() + evaluator_.steps(); }

  void add(std::span<const float> row) {
    rows_.insert(rows_.end(), row.begin(), row.end());
    if (rows_.size() >= most_values) finish();
  }

  void finish() {
    if (rows_.empty()) return;
    const std::vector<float> expected = library_.predict(rows_, budget_);
    auto row = rows_.begin();
    for (const float output : expected) {
      for (const std::uint32_t feature : library_.features()) features_[feature] = *row++;
      if (library_.features().empty()) ++row;
      budget_.steps(evaluator_.steps());
      if (std::bit_cast<std::uint32_t>(evaluator_.predict(features_)) != std::bit_cast<std::uint32_t>(output)) {
        throw ModelError("what was compiled does not reproduce XGBoost " + XgboostLibrary::version_text());
      }
    }
    rows_.clear();
  }

 private:
  static constexpr std::size_t most_values = std::size_t{1} << 18;

  const Evaluator& evaluator_;
  text::Budget& budget_;
  const QuietScope quiet_;
  LibraryForest library_;
  std::vector<float> rows_;
  std::vector<double> features_;
};

/// Rows for leaves at even distances through the forest.
void add_aimed_rows(const Forest& forest, const std::vector<Thresholds>& lists, std::size_t most, TellingRows& telling,
                    Comparison& comparison) {
  const std::size_t leaves = (forest.nodes() + forest.trees.size()) / 2;
  const std::size_t count = std::min(leaves, most);
  Aim aim(lists, forest.num_feature);
  std::size_t aimed = 0;
  std::size_t passed = 0;
  const auto next = [&] { return aimed < count ? aimed * leaves / count : leaves; };
  for (const Tree& tree : forest.trees) {
    if (next() >= passed + tree.leaves()) {
      passed += tree.leaves();
      continue;
    }
    aim.take(tree);
    for (std::size_t node = 0; node < tree.size(); ++node) {
      if (!tree.is_leaf(node) || passed++ != next()) continue;
      const std::span<float> row = telling.next();
      aim.at(node, row);
      comparison.add(row);
      ++aimed;
    }
  }
}

}  // namespace

void self_check(const Forest& forest, const Evaluator& evaluator, text::Budget& budget) {
  const auto lists = thresholds(forest, budget);
  Comparison comparison(forest, evaluator, budget);
  const std::size_t affordable = std::max<std::size_t>(1, limits::check_steps(forest.nodes()) / comparison.steps() / 2);
  TellingRows telling(lists);
  const std::size_t count = std::min(std::max(telling.enough(), limits::check_rows), affordable);
  for (std::size_t i = 0; i < count; ++i) comparison.add(telling.next());
  add_aimed_rows(forest, lists, std::min(affordable, limits::check_leaves), telling, comparison);
  comparison.finish();
}

}  // namespace rpcroute::model

#include "model/evaluator.hpp"

#include <stdexcept>

#include "model/bitmask.hpp"
#include "model/error.hpp"
#include "model/flat_forest.hpp"
#include "model/grid.hpp"
#include "model/limits.hpp"
#include "model/self_check.hpp"
#include "model/xgboost_library.hpp"

namespace rpcroute::model {

std::unique_ptr<const Evaluator> choose_evaluator(const Forest& forest, text::Budget& budget) {
  const auto lists = thresholds(forest, budget);
  if (lists.size() <= limits::bitmask_axes) {
    const std::vector<Axis> cuts = axes(lists);
    if (auto grid = Grid::compile(forest, cuts, budget)) return grid;
    if (auto bitmask = compile_bitmask(forest, cuts, budget)) return bitmask;
  }
  return std::make_unique<FlatForest>(forest, budget);
}

Model::Model(Forest forest, std::size_t content_bytes, text::Budget& budget)
    : forest_(std::move(forest)),
      evaluator_(choose_evaluator(forest_, budget)),
      content_bytes_(content_bytes),
      checked_(XgboostLibrary::available()) {
  if (checked_) self_check(forest_, *evaluator_, budget);
}

std::shared_ptr<const Model> Model::compile(std::span<const std::byte> content, text::Budget& budget) {
  try {
    return std::shared_ptr<const Model>(new Model(read_model(content, budget), content.size(), budget));
  } catch (const text::OverBudget& error) {
    throw ModelError(error.what());
  }
}

void Model::refuse_width(std::size_t given) const {
  constexpr std::size_t long_enough = 1000;
  std::string names;
  for (const std::string& name : forest_.feature_names) {
    if (names.size() + name.size() > long_enough) {
      names += ", …";
      break;
    }
    names += (names.empty() ? "" : ", ") + name;
  }
  throw std::invalid_argument("the model takes " + std::to_string(forest_.num_feature) + " features (" + names +
                              "), got " + std::to_string(given));
}

ModelInfo Model::info() const {
  const auto& [major, minor, patch] = forest_.version;
  return {forest_.objective,
          forest_.rounds,
          forest_.trees.size(),
          forest_.best_iteration,
          forest_.feature_names,
          std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch),
          evaluator_->kind(),
          evaluator_->parts(),
          evaluator_->bytes(),
          content_bytes_,
          checked_};
}

}  // namespace rpcroute::model

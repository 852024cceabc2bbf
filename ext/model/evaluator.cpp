#include "model/evaluator.hpp"

#include <stdexcept>

#include "model/flat_forest.hpp"

namespace rpcroute::model {

Model::Model(Forest forest, std::size_t content_bytes) : forest_(std::move(forest)), content_bytes_(content_bytes) {
  evaluator_ = std::make_unique<FlatForest>(forest_);
}

std::shared_ptr<const Model> Model::compile(std::span<const std::byte> content) {
  return std::shared_ptr<const Model>(new Model(read_model(content), content.size()));
}

float Model::margin(std::span<const double> features) const {
  if (features.size() != forest_.num_feature) refuse_width(features.size());
  return FlatForest(forest_).margin(features);
}

void Model::refuse_width(std::size_t given) const {
  std::string names;
  for (const std::string& name : forest_.feature_names) names += (names.empty() ? "" : ", ") + name;
  throw std::invalid_argument("the model takes " + std::to_string(forest_.num_feature) + " features (" + names +
                              "), got " + std::to_string(given));
}

ModelInfo Model::info() const {
  const auto& [major, minor, patch] = forest_.version;
  return {forest_.objective,
          forest_.rounds,
          forest_.trees.size(),
          forest_.feature_names,
          std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch),
          evaluator_->kind(),
          evaluator_->parts(),
          evaluator_->bytes(),
          content_bytes_,
          checked_};
}

}  // namespace rpcroute::model

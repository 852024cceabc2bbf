// One tree out of the file, checked node by node.
#pragma once

#include <cstdint>

#include "model/field.hpp"
#include "model/forest.hpp"

namespace rpcroute::model {

/// Reads an element of `learner.gradient_booster.model.trees`. Throws ModelError, text::OverBudget.
Tree read_tree(const Field& tree, std::uint32_t num_feature, text::Budget& budget);

}  // namespace rpcroute::model

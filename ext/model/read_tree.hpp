// One tree out of the file, checked node by node.
#pragma once

#include <cstdint>

#include "model/field.hpp"
#include "model/forest.hpp"

namespace rpcroute::model {

/// Reads an element of `learner.gradient_booster.model.trees`. Throws ModelError.
Tree read_tree(const Field& tree, std::uint32_t num_feature);

}  // namespace rpcroute::model

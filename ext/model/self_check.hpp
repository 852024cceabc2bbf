// A compiled model held against XGBoost before its first use.
#pragma once

#include "model/evaluator.hpp"

namespace rpcroute::model {

/// Compares an evaluator with libxgboost, bit for bit, at every threshold of every feature, one ulp below and above it,
/// and with missing values. In each row every feature has one of its telling values, in changing company, so the number
/// of rows grows with the longest list, not with the product; for a forest so large that this would take more than
/// about half a second, a sample of them. Throws ModelError when an output differs; LibraryError when there is no
/// library. Starts no thread.
void self_check(const Forest& forest, const Evaluator& evaluator);

/// Rows for the check, row-major: at least `least` of them, at most `most`.
std::vector<float> check_rows(const Forest& forest, std::size_t least, std::size_t most);

}  // namespace rpcroute::model

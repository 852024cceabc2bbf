// A compiled model held against XGBoost before its first use.
#pragma once

#include "model/evaluator.hpp"

namespace rpcroute::model {

/// Compares an evaluator with libxgboost, bit for bit: on rows that meet every threshold of every feature, and on rows
/// that reach leaves all over the forest. Of both only as many as limits::check_steps() allows, so that the check costs
/// in proportion to the model. Throws ModelError when an output differs; LibraryError when there is no library;
/// text::OverBudget. Starts no thread.
void self_check(const Forest& forest, const Evaluator& evaluator, text::Budget& budget);

}  // namespace rpcroute::model

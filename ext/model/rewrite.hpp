// A validated model in the words of an older library.
#pragma once

#include <string>

#include "model/forest.hpp"

namespace rpcroute::model {

/// The model as UBJSON that XGBoost 1.6 and later load as it was meant. Files of 3.1 and later hold base_score as
/// "[1.28E1]", which XGBoost up to 3.0 silently takes for 0.5, and objectives that older versions do not know: here
/// base_score is a plain number and the objective the oldest one with the same link. Nothing of the original text
/// reaches the library, whose own reader trusts it blindly.
std::string rewrite_for_library(const Forest& forest);

}  // namespace rpcroute::model

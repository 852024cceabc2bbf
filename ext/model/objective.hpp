// What an objective means for prediction: how base_score enters the margin, and how the margin becomes the output.
#pragma once

#include <optional>
#include <string_view>

namespace rpcroute::model {

/// From margin to output, and back from base_score to its margin.
enum class Link {
  identity,  ///< output = margin; base_score is a margin
  logistic,  ///< output = sigmoid(margin); base_score is a probability in (0, 1)
  log,       ///< output = exp(margin); base_score is a positive mean
  sign,      ///< output = margin > 0 ? 1 : 0; base_score is a margin
};

/// The link of an objective with one output per row, by XGBoost's name for it; nothing for those that are not known or
/// have several outputs.
std::optional<Link> link_of(std::string_view objective);

/// base_score, as the file holds it, to the margin that prediction starts from; nothing when it lies outside the link's
/// domain. Computed in float32 with the functions XGBoost uses, so that the bits agree.
std::optional<float> base_margin(Link link, float base_score);

/// Margin to output, in float32, bit for bit as XGBoost computes it.
float apply(Link link, float margin);

}  // namespace rpcroute::model

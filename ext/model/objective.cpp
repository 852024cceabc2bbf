#include "model/objective.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace rpcroute::model {
namespace {

constexpr std::array<std::pair<std::string_view, Link>, 19> links{{
    {"reg:squarederror", Link::identity},
    {"reg:linear", Link::identity},
    {"reg:squaredlogerror", Link::identity},
    {"reg:pseudohubererror", Link::identity},
    {"reg:absoluteerror", Link::identity},
    {"reg:quantileerror", Link::identity},
    {"reg:expectileerror", Link::identity},
    {"binary:logitraw", Link::identity},
    {"rank:pairwise", Link::identity},
    {"rank:ndcg", Link::identity},
    {"rank:map", Link::identity},
    {"reg:logistic", Link::logistic},
    {"binary:logistic", Link::logistic},
    {"count:poisson", Link::log},
    {"reg:gamma", Link::log},
    {"reg:tweedie", Link::log},
    {"survival:cox", Link::log},
    {"survival:aft", Link::log},
    {"binary:hinge", Link::sign},
}};

float sigmoid(float x) {
  const float bounded = std::min(-x, 88.7F);  // beyond it expf overflows
  return 1.0F / (std::exp(bounded) + 1.0F + 1e-16F);
}

}  // namespace

std::optional<Link> link_of(std::string_view objective) {
  const auto* const found =
      std::find_if(links.begin(), links.end(), [&](const auto& entry) { return entry.first == objective; });
  if (found == links.end()) return std::nullopt;
  return found->second;
}

std::optional<float> base_margin(Link link, float base_score) {
  if (!std::isfinite(base_score)) return std::nullopt;
  switch (link) {
    case Link::logistic:
      if (base_score <= 0 || base_score >= 1) return std::nullopt;
      return -std::log(1.0F / base_score - 1.0F);
    case Link::log:
      if (base_score <= 0) return std::nullopt;
      return std::log(base_score);
    default:
      return base_score;
  }
}

float apply(Link link, float margin) {
  switch (link) {
    case Link::logistic:
      return sigmoid(margin);
    case Link::log:
      return std::exp(margin);
    case Link::sign:
      return margin > 0 ? 1.0F : 0.0F;
    default:
      return margin;
  }
}

}  // namespace rpcroute::model

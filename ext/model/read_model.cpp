// The fields of a saved model, of XGBoost 1.0 to 3.x. What changed between versions is noted where it is read.
#include <algorithm>
#include <cmath>
#include <set>

#include "model/field.hpp"
#include "model/forest.hpp"
#include "model/limits.hpp"
#include "model/read_tree.hpp"

namespace rpcroute::model {
namespace {

constexpr std::int64_t most = 0x7FFFFFFE;

void read_version(const Field& root, Forest& forest) {
  const Field version = root.at("version");
  const auto numbers = version.integers();
  if (numbers.size() != 3) version.refuse("is not an array of three whole numbers");
  const auto out_of_range = [](std::int64_t number) { return number < 0 || number > 9999; };
  if (std::any_of(numbers.begin(), numbers.end(), out_of_range) || numbers[0] < 1 || numbers[0] > 3) {
    version.refuse("begins with " + std::to_string(numbers[0]) + ": models of XGBoost 1.0 to 3.x are read");
  }
  std::transform(numbers.begin(), numbers.end(), forest.version.begin(), [](auto n) { return static_cast<int>(n); });
}

void require_one(const Field& param, std::string_view key) {
  if (const auto outputs = param.find(key); outputs && outputs->count(most) > 1) {
    outputs->refuse("is more than 1: only models with one output are evaluated");
  }
}

/// Several quantiles or expectiles are several outputs; one is an ordinary model.
void require_one_alpha(const Field& objective) {
  constexpr std::pair<const char*, const char*> alphas[] = {{"quantile_loss_param", "quantile_alpha"},
                                                            {"expectile_loss_param", "expectile_alpha"}};
  for (const auto& [param_key, alpha_key] : alphas) {
    const auto param = objective.find(param_key);
    if (!param) continue;
    if (const auto alpha = param->find(alpha_key)) alpha->real();
  }
}

void read_objective(const Field& learner, Forest& forest) {
  const Field objective = learner.at("objective");
  const Field name = objective.at("name");
  const auto link = link_of(name.text());
  if (!link) name.refuse("is " + quoted(name.text()) + ", an objective that is not evaluated");
  require_one_alpha(objective);
  forest.objective = name.text();
  forest.link = *link;
}

void read_learner_param(const Field& learner, Forest& forest) {
  const Field param = learner.at("learner_model_param");
  require_one(param, "num_class");
  require_one(param, "num_target");
  const Field num_feature = param.at("num_feature");
  forest.num_feature = static_cast<std::uint32_t>(num_feature.count(limits::features));
  if (forest.num_feature == 0) num_feature.refuse("is 0");

  const Field base_score = param.at("base_score");
  forest.base_score = base_score.real();
  const auto margin = base_margin(forest.link, forest.base_score);
  if (!margin) base_score.refuse("lies outside the domain of " + forest.objective);
  forest.base_margin = *margin;
}

bool is_utf8(std::string_view text) {
  std::size_t continuation = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (continuation > 0) {
      if ((byte & 0xC0) != 0x80) return false;
      --continuation;
    } else if (byte >= 0x80) {
      if (byte < 0xC2 || byte > 0xF4) return false;
      continuation = byte >= 0xF0 ? 3 : byte >= 0xE0 ? 2 : 1;
    }
  }
  return continuation == 0;
}

/// Names came with 1.4; before, and when the training data had none, features are called f0, f1, …
void read_feature_names(const Field& learner, Forest& forest, text::Budget& budget) {
  budget.cells(forest.num_feature * sizeof(std::string) / 8);
  budget.steps(forest.num_feature);
  const auto names = learner.find("feature_names");
  if (!names || names->array_size() == 0) {
    for (std::uint32_t i = 0; i < forest.num_feature; ++i) forest.feature_names.push_back("f" + std::to_string(i));
    return;
  }
  if (names->array_size() != forest.num_feature) {
    names->refuse("has " + std::to_string(names->array_size()) + " elements, num_feature is " +
                  std::to_string(forest.num_feature));
  }
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < names->array().size(); ++i) {
    const std::string& name = names->at(i).text();
    budget.steps(1 + name.size());
    const auto control = [](char c) { return static_cast<unsigned char>(c) < ' '; };
    if (name.empty() || !is_utf8(name) || std::any_of(name.begin(), name.end(), control)) {
      names->refuse_element(i, "is " + quoted(name) + ", not a name");
    }
    if (!seen.insert(name).second) names->refuse_element(i, "is " + quoted(name) + ", a name that is already taken");
    forest.feature_names.push_back(name);
  }
}

/// DART scales its trees at prediction. 3.3 and later call such a booster "gbtree" and only add `weight_drop`, beside
/// `model` (3.3) or inside it (3.4), so the name alone does not tell.
Field require_gbtree(const Field& booster) {
  const std::string dart = "DART models are not evaluated: XGBoost versions do not agree on their predictions";
  const Field name = booster.at("name");
  if (name.text() == "dart") name.refuse("is \"dart\": " + dart);
  if (name.text() != "gbtree") name.refuse("is " + quoted(name.text()) + ", only \"gbtree\" is evaluated");
  if (const auto drop = booster.find("weight_drop")) drop->refuse("is present: " + dart);
  const Field model = booster.at("model");
  if (const auto drop = model.find("weight_drop")) drop->refuse("is present: " + dart);
  return model;
}

/// 3.1 and later translate categories by tables kept in the model.
void require_no_categories(const Field& model) {
  const auto categories = model.find("cats");
  if (!categories) return;
  const auto encodings = categories->find("enc");
  if (encodings && encodings->array_size() != 0)
    encodings->refuse("is not empty: categorical features are not evaluated");
}

void require_one_group(const Field& model, std::size_t num_trees) {
  const Field groups = model.at("tree_info");
  const auto values = groups.integers();
  if (values.size() != num_trees) {
    groups.refuse("has " + std::to_string(values.size()) + " elements, num_trees is " + std::to_string(num_trees));
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] != 0) groups.refuse_element(i, "is not 0: only models with one output are evaluated");
  }
}

/// Before 2.0 rounds follow from num_parallel_tree, later files also list where each round begins.
std::size_t read_rounds(const Field& model, const Field& param, std::size_t num_trees) {
  std::size_t parallel = 1;
  if (const auto trees = param.find("num_parallel_tree")) {
    parallel = static_cast<std::size_t>(trees->count(most));
    if (parallel == 0) trees->refuse("is 0");
  }
  const auto begins = model.find("iteration_indptr");
  if (!begins) return (num_trees + parallel - 1) / parallel;
  const auto values = begins->integers();
  if (values.empty() || values.front() != 0 || values.back() != static_cast<std::int64_t>(num_trees) ||
      !std::is_sorted(values.begin(), values.end())) {
    begins->refuse("does not rise from 0 to num_trees");
  }
  return values.size() - 1;
}

void read_booster(const Field& learner, Forest& forest, text::Budget& budget) {
  const Field booster = learner.at("gradient_booster");
  const Field model = require_gbtree(booster);
  require_no_categories(model);

  const Field param = model.at("gbtree_model_param");
  require_one(param, "size_leaf_vector");
  const Field num_trees_field = param.at("num_trees");
  const auto num_trees = static_cast<std::size_t>(num_trees_field.count(most));
  const Field trees = model.at("trees");
  if (trees.array().size() != num_trees) {
    num_trees_field.refuse("is " + std::to_string(num_trees) + ", trees has " + std::to_string(trees.array().size()) +
                           " elements");
  }
  if (num_trees == 0) num_trees_field.refuse("is 0: the model was never trained");
  require_one_group(model, num_trees);
  forest.rounds = read_rounds(model, param, num_trees);

  forest.trees.reserve(num_trees);
  for (std::size_t i = 0; i < num_trees; ++i) {
    forest.trees.push_back(read_tree(trees.at(i), forest.num_feature, budget));
  }
}

/// What early stopping noted, in an attribute that is a user's to change: anything else there is none of ours.
std::optional<std::int64_t> read_best_iteration(const Field& learner) {
  try {
    return learner.at("attributes").at("best_iteration").count(most);
  } catch (const ModelError&) {
    return std::nullopt;
  }
}

}  // namespace

Forest read_model(std::span<const std::byte> bytes, text::Budget& budget) {
  const Value document = read_document(bytes, budget);
  const Field root(document);
  Forest forest;
  read_version(root, forest);
  const Field learner = root.at("learner");
  read_objective(learner, forest);
  read_learner_param(learner, forest);
  read_feature_names(learner, forest, budget);
  read_booster(learner, forest, budget);
  forest.best_iteration = read_best_iteration(learner);
  return forest;
}

}  // namespace rpcroute::model

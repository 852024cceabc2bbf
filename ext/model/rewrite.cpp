#include "model/rewrite.hpp"

#include <array>
#include <bit>
#include <charconv>
#include <string_view>

namespace rpcroute::model {
namespace {

/// Writes UBJSON the way XGBoost reads it.
class Writer {
 public:
  void key(std::string_view name) { counted(name); }
  void text(std::string_view value) {
    out_ += 'S';
    counted(value);
  }
  void whole(std::int32_t value) {
    out_ += 'l';
    big_endian(static_cast<std::uint32_t>(value));
  }
  void begin_object() { out_ += '{'; }
  void end_object() { out_ += '}'; }
  void begin_array(std::size_t count) {
    out_ += "[#";
    length(count);
  }
  /// XGBoost insists on the width of each array's elements.
  template <class Unsigned, class Range>
  void integers(std::string_view name, const Range& values) {
    typed(name, sizeof(Unsigned) == 1 ? 'U' : sizeof(Unsigned) == 4 ? 'l' : 'L', values.size());
    for (const auto value : values) big_endian(static_cast<Unsigned>(value));
  }
  /// It does not take a typed array everywhere.
  void plain_integers(std::string_view name, const std::vector<std::int32_t>& values) {
    key(name);
    begin_array(values.size());
    for (const std::int32_t value : values) whole(value);
  }
  void reals(std::string_view name, const std::vector<float>& values) {
    typed(name, 'd', values.size());
    for (const float value : values) big_endian(std::bit_cast<std::uint32_t>(value));
  }
  void text(std::string_view name, std::string_view value) {
    key(name);
    text(value);
  }
  void text(std::string_view name, std::size_t value) { text(name, std::to_string(value)); }

  std::string take() { return std::move(out_); }

 private:
  template <class Unsigned>
  void big_endian(Unsigned value) {
    for (int shift = static_cast<int>(sizeof value) * 8 - 8; shift >= 0; shift -= 8) {
      out_ += static_cast<char>((value >> shift) & 0xFF);
    }
  }
  void length(std::size_t count) {
    out_ += 'L';
    big_endian(std::uint64_t{count});
  }
  void counted(std::string_view value) {
    length(value.size());
    out_ += value;
  }
  void typed(std::string_view name, char type, std::size_t count) {
    key(name);
    out_ += "[$";
    out_ += type;
    out_ += '#';
    length(count);
  }

  std::string out_;
};

void write_statistics(Writer& writer, const Tree& tree, const std::vector<std::int32_t>& parents) {
  const std::vector<int> none;
  writer.reals("base_weights", std::vector<float>(tree.size(), 0.0F));
  writer.reals("loss_changes", tree.gain);
  writer.reals("sum_hessian", tree.cover);
  writer.integers<std::uint32_t>("parents", parents);
  writer.integers<std::uint8_t>("split_type", std::vector<int>(tree.size(), 0));
  writer.integers<std::uint32_t>("categories", none);
  writer.integers<std::uint32_t>("categories_nodes", none);
  writer.integers<std::uint64_t>("categories_segments", none);
  writer.integers<std::uint64_t>("categories_sizes", none);
}

void write_tree(Writer& writer, const Tree& tree, std::size_t id, std::uint32_t num_feature) {
  std::vector<std::int32_t> parents(tree.size(), 0x7FFFFFFF);
  std::vector<std::int32_t> right(tree.size(), -1);
  for (std::size_t node = 0; node < tree.size(); ++node) {
    if (tree.is_leaf(node)) continue;
    const auto left = static_cast<std::size_t>(tree.left[node]);
    right[node] = tree.left[node] + 1;
    parents[left] = parents[left + 1] = static_cast<std::int32_t>(node);
  }
  writer.begin_object();
  writer.key("id");
  writer.whole(static_cast<std::int32_t>(id));
  writer.key("tree_param");
  writer.begin_object();
  writer.text("num_deleted", 0);
  writer.text("num_feature", num_feature);
  writer.text("num_nodes", tree.size());
  writer.text("size_leaf_vector", 0);
  writer.end_object();
  writer.integers<std::uint32_t>("left_children", tree.left);
  writer.integers<std::uint32_t>("right_children", right);
  writer.integers<std::uint32_t>("split_indices", tree.feature);
  writer.reals("split_conditions", tree.value);
  writer.integers<std::uint8_t>("default_left", tree.default_left);
  write_statistics(writer, tree, parents);
  writer.end_object();
}

void write_booster(Writer& writer, const Forest& forest) {
  writer.key("gradient_booster");
  writer.begin_object();
  writer.text("name", "gbtree");
  writer.key("model");
  writer.begin_object();
  writer.key("gbtree_model_param");
  writer.begin_object();
  writer.text("num_parallel_tree", 1);
  writer.text("num_trees", forest.trees.size());
  writer.text("size_leaf_vector", 0);
  writer.end_object();
  writer.plain_integers("tree_info", std::vector<std::int32_t>(forest.trees.size(), 0));
  writer.key("trees");
  writer.begin_array(forest.trees.size());
  for (std::size_t i = 0; i < forest.trees.size(); ++i) write_tree(writer, forest.trees[i], i, forest.num_feature);
  writer.end_object();
  writer.end_object();
}

void write_objective(Writer& writer, Link link) {
  writer.key("objective");
  writer.begin_object();
  switch (link) {
    case Link::identity:
    case Link::logistic:
      writer.text("name", link == Link::identity ? "reg:squarederror" : "binary:logistic");
      writer.key("reg_loss_param");
      writer.begin_object();
      writer.text("scale_pos_weight", 1);
      writer.end_object();
      break;
    case Link::log:
      writer.text("name", "count:poisson");
      writer.key("poisson_regression_param");
      writer.begin_object();
      writer.text("max_delta_step", "0.7");
      writer.end_object();
      break;
    case Link::sign:
      writer.text("name", "binary:hinge");
      break;
  }
  writer.end_object();
}

void write_learner_param(Writer& writer, const Forest& forest) {
  std::array<char, 32> base_score{};
  const auto end = std::to_chars(base_score.data(), base_score.data() + base_score.size(), forest.base_score).ptr;
  writer.key("learner_model_param");
  writer.begin_object();
  writer.text("base_score", std::string_view(base_score.data(), end));
  writer.text("boost_from_average", 1);
  writer.text("num_class", 0);
  writer.text("num_feature", forest.num_feature);
  writer.text("num_target", 1);
  writer.end_object();
}

}  // namespace

std::string rewrite_for_library(const Forest& forest) {
  Writer writer;
  writer.begin_object();
  writer.key("learner");
  writer.begin_object();
  writer.key("attributes");
  writer.begin_object();
  writer.end_object();
  for (const auto* name : {"feature_names", "feature_types"}) {
    writer.key(name);
    writer.begin_array(0);
  }
  write_booster(writer, forest);
  write_learner_param(writer, forest);
  write_objective(writer, forest.link);
  writer.end_object();
  writer.plain_integers("version", {1, 7, 0});
  writer.end_object();
  return writer.take();
}

}  // namespace rpcroute::model

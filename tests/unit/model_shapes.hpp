// Forests of odd shapes, and the files they are read from: what costs nothing to write may cost much to evaluate.
#pragma once

#include <algorithm>
#include <functional>
#include <string>

#include "model/forest.hpp"
#include "model/rewrite.hpp"

namespace rpcroute::model::test {

/// `leaf` and `split` return the index of what they add; children are added behind their parent, in pairs.
struct Growing {
  Tree tree;

  Growing() { add(); }
  void leaf(std::size_t node, float value) { tree.value[node] = value; }
  std::size_t split(std::size_t node, std::uint32_t feature, float threshold) {
    const std::size_t left = add();
    add();
    tree.left[node] = static_cast<std::int32_t>(left);
    tree.feature[node] = feature;
    tree.value[node] = threshold;
    return left;
  }

 private:
  std::size_t add() {
    tree.left.push_back(-1);
    tree.feature.push_back(0);
    tree.value.push_back(0.001F * static_cast<float>(tree.size()));
    tree.default_left.push_back(static_cast<std::uint8_t>(tree.size() % 2));
    tree.gain.push_back(1);
    tree.cover.push_back(1);
    return tree.size() - 1;
  }
};

/// A list of splits at thresholds of their own: what is below goes to a leaf on the left, the rest goes on.
inline Tree chain(std::size_t depth, std::uint32_t features, std::uint32_t first = 0) {
  Growing growing;
  std::size_t node = 0;
  for (std::size_t i = 0; i < depth; ++i) {
    const auto at = first + static_cast<std::uint32_t>(i);
    node = growing.split(node, at % features, static_cast<float>(at)) + 1;
  }
  return growing.tree;
}

/// A tree of 2^depth leaves, each split at a threshold of its own.
inline Tree bush(std::size_t depth, std::uint32_t features, std::uint32_t first = 0) {
  Growing growing;
  for (std::size_t node = 0; node + 1 < std::size_t{1} << depth; ++node) {
    const auto at = first + static_cast<std::uint32_t>(node);
    growing.split(node, at % features, static_cast<float>(at));
  }
  return growing.tree;
}

inline Tree leaf() {
  return Growing().tree;
}

inline Forest forest(std::size_t trees, std::uint32_t features, const std::function<Tree(std::uint32_t)>& tree) {
  Forest forest;
  forest.num_feature = features;
  for (std::uint32_t i = 0; i < trees; ++i) forest.trees.push_back(tree(i));
  return forest;
}

struct Shape {
  std::string name;
  std::function<Forest(std::uint32_t size)> make;  ///< of about `size` kilobytes
};

inline std::vector<Shape> shapes() {
  const auto one = [](Tree tree) { return [tree](std::uint32_t) { return tree; }; };
  return {
      {"many features, few splits",
       [](auto size) { return forest(size, 65536, [](auto i) { return chain(1, 65536, i * 977); }); }},
      {"many features, one tree of more than 64 leaves",
       [&](auto size) { return forest(1, 65536, one(bush(std::bit_width(size * 12), 65536))); }},
      {"a chain on one feature", [&](auto size) { return forest(1, 1, one(chain(size * 14, 1))); }},
      {"a chain on as many features as splits",
       [&](auto size) {
         return forest(1, std::min(size * 14, 65536U), one(chain(size * 14, std::min(size * 14, 65536U))));
       }},
      {"a chain among seven leaves",
       [](auto size) { return forest(8, 3, [&](auto i) { return i == 3 ? chain(size * 14, 3) : leaf(); }); }},
      {"very many stumps", [](auto size) { return forest(size, 3, [](auto i) { return chain(1, 3, i); }); }},
      {"very many leaves", [](auto size) { return forest(size, 3, [](auto) { return leaf(); }); }},
      {"as many features as stumps",
       [](auto size) {
         return forest(size, std::min(size, 65536U), [&](auto i) { return chain(1, std::min(size, 65536U), i); });
       }},
      {"trees of 64 leaves with thresholds of their own",
       [](auto size) { return forest(size / 5 + 1, 3, [](auto i) { return bush(6, 3, i * 64); }); }},
      {"two features with thresholds of their own",
       [](auto size) { return forest(size, 2, [](auto i) { return chain(1, 2, i); }); }},
      {"deep trees on many features",
       [](auto size) { return forest(size / 14 + 1, 400, [](auto i) { return chain(400, 400, i); }); }},
  };
}

inline std::string file_of(const Forest& forest) {
  return rewrite_for_library(forest);
}

}  // namespace rpcroute::model::test

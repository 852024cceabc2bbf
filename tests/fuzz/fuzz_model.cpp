// Any bytes are either refused as a model or predicted alike by every evaluator and by libxgboost.
//
//   cmake --preset fuzz && cmake --build build/fuzz --target fuzz_model
//   build/fuzz/tests/fuzz_model -max_len=8192 corpus tests/unit/fixtures/model
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "model/bitmask.hpp"
#include "model/error.hpp"
#include "model/evaluator.hpp"
#include "model/explain.hpp"
#include "model/flat_forest.hpp"
#include "model/grid.hpp"
#include "model/self_check.hpp"

namespace {

using namespace rpcroute::model;

void require_same(const Evaluator* a, const Evaluator& b, const Forest& forest) {
  if (!a) return;
  const std::vector<float> rows = check_rows(forest, 50, 200);
  for (std::size_t at = 0; at < rows.size(); at += forest.num_feature) {
    const std::vector<double> row(rows.begin() + static_cast<std::ptrdiff_t>(at),
                                  rows.begin() + static_cast<std::ptrdiff_t>(at + forest.num_feature));
    const float left = a->predict(row);
    const float right = b.predict(row);
    if (std::bit_cast<std::uint32_t>(left) != std::bit_cast<std::uint32_t>(right)) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  try {
    const auto model = Model::compile(bytes);
    const Forest& forest = model->forest();
    const FlatForest flat(forest);
    require_same(Grid::compile(forest, axes(forest)).get(), flat, forest);
    require_same(compile_bitmask(forest, axes(forest)).get(), flat, forest);
    importance(forest);
    model->info();
  } catch (const ModelError&) {  // refused: nothing else may come out
  }
  return 0;
}

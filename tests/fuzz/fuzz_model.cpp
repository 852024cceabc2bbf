// Any bytes are either refused as a model or predicted alike by every evaluator and by libxgboost.
//
//   cmake --preset fuzz && cmake --build build/fuzz --target fuzz_model
//   build/fuzz/tests/fuzz_model -max_len=8192 corpus tests/unit/fixtures/model
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <span>
#include <vector>

#include "model/bitmask.hpp"
#include "model/check_rows.hpp"
#include "model/error.hpp"
#include "model/evaluator.hpp"
#include "model/explain.hpp"
#include "model/flat_forest.hpp"
#include "model/grid.hpp"
#include "model/limits.hpp"

namespace {

using namespace rpcroute::model;

void require_same(const Evaluator* a, const Evaluator& b, const Forest& forest, rpcroute::text::Budget& budget) {
  if (!a) return;
  const std::vector<Thresholds> lists = thresholds(forest, budget);
  TellingRows telling(lists);
  std::vector<double> row(forest.num_feature, std::numeric_limits<double>::quiet_NaN());
  for (int i = 0; i < 200; ++i) {
    const std::span<const float> values = telling.next();
    for (std::size_t column = 0; column < lists.size(); ++column) row[lists[column].feature] = values[column];
    const float left = a->predict(row);
    const float right = b.predict(row);
    if (std::bit_cast<std::uint32_t>(left) != std::bit_cast<std::uint32_t>(right)) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  try {
    rpcroute::text::Budget budget(limits::model(size));
    const auto model = Model::compile(bytes, budget);
    const Forest& forest = model->forest();
    const FlatForest flat(forest, budget);
    const std::vector<Axis> cuts = axes(thresholds(forest, budget));
    require_same(Grid::compile(forest, cuts, budget).get(), flat, forest, budget);
    require_same(compile_bitmask(forest, cuts, budget).get(), flat, forest, budget);
    importance(forest, budget);
    model->info();
  } catch (const ModelError&) {  // refused: nothing else may come out
  }
  return 0;
}

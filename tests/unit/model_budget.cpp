// What a model costs: steps in proportion to its bytes, and none of them out of an interrupt's reach.
#include <catch2/catch.hpp>

#include "model/booster.hpp"
#include "model/document.hpp"
#include "model/error.hpp"
#include "model/explain.hpp"
#include "model/flat_forest.hpp"
#include "model/library_forest.hpp"
#include "model/self_check.hpp"
#include "model/xgboost_library.hpp"
#include "model_shapes.hpp"
#include "model_support.hpp"

namespace rpcroute::model {
namespace {

using namespace test;

/// Of everything up to the first prediction, and the importances.
std::uint64_t steps_of(const std::string& file) {
  text::Budget budget(limits::model(file.size()));
  const auto model = Model::compile(std::as_bytes(std::span(file)), budget);
  importance(model->forest(), budget);
  return budget.steps_used();
}

std::string refusal_of(std::string_view file) {
  try {
    compiled(file);
  } catch (const ModelError& error) {
    return error.what();
  }
  return "accepted";
}

std::string member(const std::string& value) {
  return "{\"a\":" + value + "}";
}

std::string ubjson_member(const std::string& value) {
  return std::string("{i\x01") + "a" + value + "}";
}

std::string big_endian(std::uint32_t number) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(number >> shift);
  return bytes;
}

TEST_CASE("Whatever its shape, a model costs steps in proportion to its bytes", "[model]") {
  for (const Shape& shape : shapes()) {
    INFO(shape.name);
    for (const std::uint32_t kilobytes : {2, 7, 60, 234, 800}) {
      const std::string file = file_of(shape.make(kilobytes));
      CHECK(steps_of(file) < 5'000'000 + 32 * file.size());
    }
  }
}

TEST_CASE("A chain of a hundred thousand splits costs what its bytes do", "[model]") {
  const std::uint32_t features = GENERATE(1, 2, 65536);
  const std::string file = file_of(forest(1, features, [&](auto) { return chain(100'000, features); }));
  CHECK(steps_of(file) < 12 * file.size());
}

TEST_CASE("A tree too large to be loaded without a pause is refused", "[model]") {
  const std::string file = file_of(forest(1, 1, [](auto) { return chain(131'072, 1); }));
  CHECK(refusal_of(file).ends_with("trees[0].tree_param.num_nodes is 262145, accepted is 0 to 262144"));
}

TEST_CASE("A text, a blank or a number of any length is read once", "[model]") {
  const std::size_t size = 3'000'000;
  for (const std::string& long_one :
       {member('"' + std::string(size, 'x') + '"'), std::string(size, ' ') + "{}",
        member("0." + std::string(size, '7')), "{\"" + std::string(size, 'k') + "\":1}",
        member('[' + std::string(size, ' ') + ']'), ubjson_member("Sl" + big_endian(size) + std::string(size, 'x'))}) {
    text::Budget budget({.steps = 2 * size});
    CHECK_NOTHROW(read_document(std::as_bytes(std::span(long_one)), budget));
  }
}

TEST_CASE("Values that take more memory than they are worth are refused", "[model]") {
  const auto many = [](std::size_t count, const std::string& value) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) text += value;
    return text;
  };
  const std::size_t count = 200'000;
  for (const std::string& dear :
       {member("[" + many(count, "[],") + "[]]"), member("[" + many(count, "null,") + "null]"),
        ubjson_member("[" + std::string(count, 'Z') + "]"),
        ubjson_member("[#l" + big_endian(count) + std::string(count, 'Z'))}) {
    text::Budget budget({.cells = count * sizeof(Value) / 8});
    CHECK_THROWS_AS(read_document(std::as_bytes(std::span(dear)), budget), text::OverBudget);
  }
  // One byte, of which eight would be made.
  const std::string bytes = ubjson_member("[$U#l" + big_endian(40'000'000) + std::string(40'000'000, '\1'));
  CHECK(refusal_of(bytes) == "model refused: more than 33554432 values");
  CHECK(refusal_of(std::string((64U << 20) + 1, '{')) == "model refused: more than 67108864 bytes");
}

TEST_CASE("Keys are compared within the budget, however many and however alike", "[model]") {
  std::string alike = "{";
  for (int key = 100; key < 356; ++key) alike += '"' + std::string(10'000, 'k') + std::to_string(key) + "\":0,";
  alike.back() = '}';
  text::Budget budget({.steps = 20 * alike.size()});
  CHECK_NOTHROW(read_document(std::as_bytes(std::span(alike)), budget));

  std::string repeated = "{";
  for (int key = 0; key < 100'000; ++key) repeated += "\"" + std::to_string(key % 300) + "\":0,";
  repeated.back() = '}';
  CHECK(refusal_of(repeated).starts_with("model refused: an object has more than 256 keys"));
}

TEST_CASE("Categories without end are refused for being categories", "[model]") {
  Editable model(trained(2, "reg:squarederror", R"("num_round":1,"max_depth":2)"));
  rapidjson::Value categories(rapidjson::kArrayType);
  for (int i = 0; i < 500'000; ++i) categories.PushBack(i, model.document.GetAllocator());
  model.set(model.tree(0), "categories", std::move(categories));
  CHECK(refusal_of(model.json()).ends_with("categories is not empty: categorical splits are not evaluated"));
}

/// What a pulse throws.
struct Ended {};

/// Ends work at its k-th pulse, for several k; false when it went on, or ended some other way.
bool ends_at_every_pulse(const std::function<void(text::Budget&)>& work) {
  std::size_t pulses = 0;
  text::Budget counting([&] { ++pulses; });
  work(counting);
  if (pulses == 0) return false;
  for (std::size_t k = 1; k <= pulses; k += 1 + pulses / 8) {
    std::size_t seen = 0;
    text::Budget ending([&] {
      if (++seen >= k) throw Ended();
    });
    try {
      work(ending);
      return false;
    } catch (const Ended&) {
      if (seen != k) return false;
    }
  }
  return true;
}

TEST_CASE("Every phase of a model's life ends at the pulse that says so", "[model]") {
  const Forest grown = forest(130, 40, [](auto i) { return bush(9, 40, i * 512); });
  const std::string ubjson = file_of(grown);
  const auto bytes = std::as_bytes(std::span(ubjson));
  std::string json = "{\"a\":[1";
  for (int i = 0; i < 100'000; ++i) json += ",1";
  json += "]}";

  CHECK(ends_at_every_pulse([&](auto& budget) { read_document(std::as_bytes(std::span(json)), budget); }));
  CHECK(ends_at_every_pulse([&](auto& budget) { read_document(bytes, budget); }));
  CHECK(ends_at_every_pulse([&](auto& budget) { read_model(bytes, budget); }));
  CHECK(ends_at_every_pulse([&](auto& budget) { choose_evaluator(grown, budget); }));
  CHECK(ends_at_every_pulse([&](auto& budget) { importance(forest_of(ubjson), budget); }));
  const auto steps = [](const Tree& tree) { return std::uint64_t{tree.depth()}; };
  CHECK(ends_at_every_pulse([&](auto& budget) { LibraryForest(grown, steps, budget); }));
  CHECK(ends_at_every_pulse([&](auto& budget) { self_check(grown, FlatForest(grown, unlimited()), budget); }));
  CHECK(ends_at_every_pulse([&](auto& budget) { Model::compile(bytes, budget); }));

  const auto model = compiled(ubjson);
  const std::vector<double> row(40, 1.0);
  CHECK(ends_at_every_pulse([&](auto& budget) {
    for (int i = 0; i < 200; ++i) model->predict(row, budget);
  }));
  CHECK(ends_at_every_pulse([&](auto& budget) { Explainer(model, budget); }));
  Explainer explainer(model, unlimited());
  CHECK(ends_at_every_pulse([&](auto& budget) { explainer.explain(row, budget); }));
}

TEST_CASE("A table of bits or of outputs is made within reach of an interrupt", "[model]") {
  CHECK(ends_at_every_pulse(
      [](auto& budget) { choose_evaluator(forest(500, 2, [](auto i) { return chain(1, 2, i); }), budget); }));
  CHECK(ends_at_every_pulse(
      [](auto& budget) { choose_evaluator(forest(500, 3, [](auto i) { return chain(1, 3, i); }), budget); }));
}

TEST_CASE("A forest in parts gives the bits of one booster", "[model]") {
  const Link link = GENERATE(Link::identity, Link::logistic, Link::log);
  Forest grown = forest(5000, 3, [](auto i) { return bush(3, 3, i); });
  for (Tree& tree : grown.trees) {
    for (float& value : tree.value) value = std::fmod(value, 0.37F) - 0.1F;
  }
  grown.link = link;
  grown.base_score = 0.3F;
  const QuietScope quiet;
  const auto rows = telling_rows(grown, 50);
  const auto expected = Booster::load(rewrite_for_library(grown)).predict(rows, 3);
  LibraryForest library(
      grown, [](const Tree&) { return std::uint64_t{1}; }, unlimited());
  const auto given = library.predict(rows, unlimited());
  REQUIRE(given.size() == expected.size());
  for (std::size_t i = 0; i < given.size(); ++i) CHECK(bits(given[i]) == bits(expected[i]));

  const std::vector<float> row{1, 2, 3};
  const auto why = library.contributions(row, unlimited());
  const auto whole = Booster::load(rewrite_for_library(grown)).contributions(row, 3);
  for (std::size_t i = 0; i < why.size(); ++i) CHECK(why[i] == Approx(whole[i]).epsilon(1e-4));
}

TEST_CASE("Contributions that recursion or time would not bear are refused before they are begun", "[model]") {
  const auto refusal = [](const Forest& forest) -> std::string {
    try {
      Explainer(compiled(file_of(forest)), unlimited());
    } catch (const ModelError& error) {
      return error.what();
    }
    return "accepted";
  };
  const std::string refused = "model refused: contributions are not computed for it: ";
  CHECK(refusal(forest(1, 3, [](auto) { return chain(100'000, 3); })) ==
        refused + "tree 0 is 100000 deep, accepted is 512");
  CHECK(refusal(forest(2, 500, [](auto i) {
          return chain(i == 1 ? 500 : 1, 500);
        })).starts_with(refused + "tree 1 would take "));
  CHECK(refusal(forest(400, 300, [](auto) { return chain(300, 300); })).starts_with(refused + "a row would take "));
  CHECK(refusal(forest(1, 3, [](auto) { return chain(512, 3); })) == "accepted");
}

/// One that sends to the other side at the last split of a chain.
Forest wrong_at_the_end(Forest forest) {
  Tree& tree = forest.trees[0];
  tree.value[tree.size() - 1] += 1;
  return forest;
}

TEST_CASE("The self-check reaches the deepest leaves of a forest", "[model]") {
  const std::uint32_t features = GENERATE(2, 60, 1000);
  const Forest grown = forest(1, features, [&](auto) { return chain(300, features); });
  CHECK_NOTHROW(self_check(grown, FlatForest(grown, unlimited()), unlimited()));
  CHECK_THROWS_AS(self_check(grown, FlatForest(wrong_at_the_end(grown), unlimited()), unlimited()), ModelError);
}

}  // namespace
}  // namespace rpcroute::model

// How much faster a compiled model predicts than XGBoost itself, in one run, and how long the first prediction takes.
//
//   build/tests/rpcroute-bench-predict_evaluator [rows]
//
// The models are trained here: the seed's size (100 trees, depth 6) on two features, and 150 trees of depth 5 on five.
// Every row is also compared bit for bit with XGBoost's batch.
#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "model/booster.hpp"
#include "model/evaluator.hpp"
#include "model/flat_forest.hpp"
#include "model/rewrite.hpp"
#include "model/train.hpp"
#include "model/xgboost_library.hpp"

namespace {

using namespace rpcroute::model;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Least of a few runs: the host's other work only ever adds.
template <class Work>
double best_seconds(int runs, Work work) {
  double best = std::numeric_limits<double>::infinity();
  for (int run = 0; run < runs; ++run) {
    const auto begin = Clock::now();
    work();
    best = std::min(best, seconds_since(begin));
  }
  return best;
}

struct Shape {
  const char* name;
  std::size_t width;
  const char* params;
  double single_goal;
  double batch_goal;
};

std::vector<double> fleet_row(std::mt19937& random, std::size_t width) {
  std::gamma_distribution<double> latency(2, 150);
  std::uniform_int_distribution<int> lag(0, 8);
  std::vector<double> row(width);
  for (std::size_t i = 0; i < width; ++i) row[i] = i % 2 == 0 ? latency(random) : lag(random);
  return row;
}

TrainingRows training_rows(std::size_t rows, std::size_t width) {
  std::mt19937 random(1);
  std::exponential_distribution<double> noise(0.2);
  TrainingRows result;
  result.width = width;
  for (std::size_t i = 0; i < rows; ++i) {
    const auto row = fleet_row(random, width);
    result.add(6 + row[0] / 100 + 4 * row[1] + noise(random), row);
  }
  return result;
}

std::string train_shape(const Shape& shape) {
  std::string names;
  for (std::size_t i = 0; i < shape.width; ++i) names += (i ? ",\"x" : "\"x") + std::to_string(i) + "\"";
  return train(training_rows(20'000, shape.width), parse_params("{\"features\":[" + names + "]," + shape.params + "}"));
}

std::vector<double> rows_to_predict(std::size_t rows, std::size_t width) {
  std::mt19937 random(2);
  std::vector<double> result;
  for (std::size_t i = 0; i < rows; ++i) {
    auto row = fleet_row(random, width);
    if (random() % 20 == 0) row[random() % width] = std::numeric_limits<double>::quiet_NaN();
    result.insert(result.end(), row.begin(), row.end());
  }
  return result;
}

double evaluator_seconds(const Evaluator& evaluator, const std::vector<double>& rows, std::size_t width,
                         std::vector<float>& out) {
  return best_seconds(3, [&] {
    for (std::size_t row = 0; row < out.size(); ++row) out[row] = evaluator.predict({rows.data() + row * width, width});
  });
}

double single_row_seconds(Booster& booster, const std::vector<float>& rows, std::size_t width) {
  const std::size_t count = 2000;
  return best_seconds(3,
                      [&] {
                        for (std::size_t row = 0; row < count; ++row)
                          booster.predict({rows.data() + row * width, width}, width);
                      }) /
         static_cast<double>(count);
}

std::size_t mismatches(const std::vector<float>& a, const std::vector<float>& b) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::bit_cast<std::uint32_t>(a[i]) != std::bit_cast<std::uint32_t>(b[i])) ++count;
  }
  return count;
}

void measure(const Shape& shape, std::size_t count) {
  const std::string json = train_shape(shape);
  const auto bytes = std::as_bytes(std::span(json));
  rpcroute::text::Budget budget;
  const double first = best_seconds(3, [&] { Model::compile(bytes, budget); });
  const double read = best_seconds(3, [&] { read_model(bytes, budget); });
  const auto model = Model::compile(bytes, budget);
  const auto evaluator = choose_evaluator(model->forest(), budget);
  const double compile = best_seconds(3, [&] { choose_evaluator(model->forest(), budget); });
  const ModelInfo info = model->info();

  const auto rows = rows_to_predict(count, shape.width);
  const std::vector<float> narrow(rows.begin(), rows.end());
  std::vector<float> ours(count);
  const double own = evaluator_seconds(*evaluator, rows, shape.width, ours) / static_cast<double>(count);
  std::vector<float> walked(count);
  const double flat =
      evaluator_seconds(FlatForest(model->forest(), budget), rows, shape.width, walked) / static_cast<double>(count);

  const QuietScope quiet;
  Booster booster = Booster::load(rewrite_for_library(model->forest()));
  const double single = single_row_seconds(booster, narrow, shape.width);
  std::vector<float> theirs;
  const double batch =
      best_seconds(2, [&] { theirs = booster.predict(narrow, shape.width); }) / static_cast<double>(count);

  std::printf("\n%s: %s, %zu parts, %.1f KiB\n", shape.name, std::string(info.evaluator).c_str(), info.parts,
              static_cast<double>(info.evaluator_bytes) / 1024);
  std::printf("  first prediction     %8.1f ms (read %.1f, compile %.1f, the rest is the self-check)\n", first * 1e3,
              read * 1e3, compile * 1e3);
  std::printf("  evaluator            %8.1f ns/row\n", own * 1e9);
  std::printf("  plain forest         %8.1f ns/row\n", flat * 1e9);
  std::printf("  XGBoost, single row  %8.1f ns/row  = %7.1f x the evaluator (goal %.0f)\n", single * 1e9, single / own,
              shape.single_goal);
  std::printf("  XGBoost, batch       %8.1f ns/row  = %7.1f x the evaluator (goal %.0f)\n", batch * 1e9, batch / own,
              shape.batch_goal);
  std::printf("  bits that differ     %zu of %zu (evaluator), %zu (plain forest)\n", mismatches(ours, theirs), count,
              mismatches(walked, theirs));
}

void measure_training() {
  const auto rows = training_rows(100'000, 2);
  const auto params = parse_params(
      R"({"features":["latency_ms","block_lag"],"num_round":100,"learning_rate":0.1,"max_depth":6,"subsample":0.8})");
  std::printf("\ntraining 100,000 x 2, 100 rounds, 1 thread: %.2f s\n", best_seconds(2, [&] { train(rows, params); }));
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t rows = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1'000'000;
  const auto begin = Clock::now();
  const std::string version = XgboostLibrary::version_text();
  if (version.empty()) {
    std::puts("libxgboost is not installed: nothing to compare with");
    return 1;
  }
  std::printf("XGBoost %s, opened in %.1f ms\n", version.c_str(), seconds_since(begin) * 1e3);
  const Shape shapes[] = {
      {"2 features, 100 trees, depth 6", 2, R"("num_round":100,"learning_rate":0.1,"max_depth":6,"subsample":0.8)", 500,
       10},
      {"5 features, 150 trees, depth 5", 5, R"("num_round":150,"learning_rate":0.1,"max_depth":5)", 50, 5},
      {"5 features, 100 trees, depth 9", 5, R"("num_round":100,"learning_rate":0.1,"max_depth":9)", 1, 1},
  };
  for (const Shape& shape : shapes) measure(shape, rows);
  measure_training();
  return 0;
}

// Predictions are XGBoost's, bit for bit.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "model/booster.hpp"
#include "model/error.hpp"
#include "model/evaluator.hpp"
#include "model/explain.hpp"
#include "model/rewrite.hpp"
#include "model/xgboost_library.hpp"
#include "model_support.hpp"

namespace rpcroute::model {
namespace {

using namespace test;

/// How many of the rows a model predicts differently from what is expected.
std::size_t mismatches(const Model& model, const std::vector<float>& rows, const std::vector<float>& expected) {
  const std::size_t width = model.forest().num_feature;
  std::size_t count = 0;
  for (std::size_t row = 0; row < expected.size(); ++row) {
    const std::vector<double> features(rows.begin() + static_cast<std::ptrdiff_t>(row * width),
                                       rows.begin() + static_cast<std::ptrdiff_t>((row + 1) * width));
    if (bits(model.predict(features, unlimited())) != bits(expected[row])) ++count;
  }
  return count;
}

struct Example {
  std::vector<float> rows;
  std::vector<float> predictions;
};

Example read_example(const std::filesystem::path& path) {
  rapidjson::Document document;
  const std::string text = read_file(path);
  document.Parse<rapidjson::kParseFullPrecisionFlag>(text.data(), text.size());
  Example example;
  for (const auto& row : document["rows"].GetArray()) {
    for (const auto& x : row.GetArray()) example.rows.push_back(x.IsNull() ? missing : x.GetFloat());
  }
  for (const auto& y : document["predictions"].GetArray()) example.predictions.push_back(y.GetFloat());
  return example;
}

TEST_CASE("A model saved by XGBoost 3.4 predicts here what it predicted there", "[model]") {
  const auto folder = shared_data() / "models_xgboost_3_4";
  if (!std::filesystem::exists(folder)) return;
  const std::string name = GENERATE("binary_logistic_5f", "count_poisson_2f", "reg_absoluteerror_2f", "reg_gamma_2f",
                                    "reg_quantile_2f", "reg_squarederror_2f", "reg_squarederror_5f", "reg_tweedie_2f");
  const std::string format = GENERATE(".json", ".ubj");
  INFO(name << format);
  const Example example = read_example(folder / (name + ".expected.json"));
  const auto model = compiled(read_file(folder / (name + format)));
  CHECK(example.predictions.size() == 200);
  CHECK(mismatches(*model, example.rows, example.predictions) == 0);
}

TEST_CASE("A model saved by the seed's pipeline predicts its published values", "[model]") {
  const auto file = shared_data() / "peer_model_xgboost_3_2.json";
  if (!std::filesystem::exists(file)) return;
  const auto model = compiled(read_file(file));
  const auto predict = [&](double latency, double lag) {
    return model->predict(std::vector<double>{latency, lag}, unlimited());
  };
  CHECK(predict(120, 0) == Approx(11.42008).epsilon(1e-6));
  CHECK(predict(450, 3) == Approx(22.672630).epsilon(1e-6));
  CHECK(predict(8000, 8) == Approx(13.454953).epsilon(1e-6));
}

TEST_CASE("A prediction equals the library's for every objective that can be trained", "[model]") {
  const std::string objective =
      GENERATE("reg:squarederror", "reg:absoluteerror", "reg:pseudohubererror", "reg:squaredlogerror", "reg:gamma",
               "reg:tweedie", "reg:logistic", "count:poisson", "binary:logistic", "binary:logitraw");
  const std::size_t width = GENERATE(1, 2, 5);
  INFO(objective << ", " << width << " features");
  const std::string json = trained(width, objective);
  const auto model = compiled(json);
  const auto rows = telling_rows(model->forest(), 5000);

  const QuietScope quiet;
  CHECK(mismatches(*model, rows, Booster::load(json).predict(rows, width)) == 0);
  CHECK(mismatches(*model, rows, Booster::load(rewrite_for_library(model->forest())).predict(rows, width)) == 0);
}

TEST_CASE("Threads share one model, compile their own and explain at once", "[model]") {
  const std::string json = trained(3);
  const auto model = compiled(json);
  Explainer explainer(model, unlimited());
  const std::vector<double> row{300, 2, 500};
  const float expected = model->predict(row, unlimited());
  const float bias = explainer.explain(row, unlimited()).bias;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int repeat = 0; repeat < 5; ++repeat) {
        if (model->predict(row, unlimited()) != expected || compiled(json)->predict(row, unlimited()) != expected)
          ++wrong;
        if (explainer.explain(row, unlimited()).bias != bias) ++wrong;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(wrong == 0);
}

std::size_t threads_of_this_process() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

TEST_CASE("Compiling, predicting and explaining start no thread, so a forked child can do the same", "[model]") {
  const std::string json = trained(2);
  const std::size_t before = threads_of_this_process();
  const auto model = compiled(json);
  Explainer explainer(model, unlimited());
  const std::vector<double> row{300, 2};
  const float bias = explainer.explain(row, unlimited()).bias;
  CHECK(threads_of_this_process() <= before);

  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // a hang ends as a signal
    const auto again = compiled(json);
    const bool same = again->predict(row, unlimited()) == model->predict(row, unlimited()) &&
                      Explainer(again, unlimited()).explain(row, unlimited()).bias == bias;
    _exit(same ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(status == 0);
}

}  // namespace
}  // namespace rpcroute::model

// Training: the same rows give the same bytes, and what cannot be meant is an error.
#include <algorithm>
#include <catch2/catch.hpp>
#include <future>
#include <numeric>

#include "model/evaluator.hpp"
#include "model/train.hpp"
#include "model/worker.hpp"
#include "model/xgboost_library.hpp"
#include "model_support.hpp"

namespace rpcroute::model {
namespace {

using namespace test;

TrainingRows shuffled(const TrainingRows& rows, unsigned seed) {
  std::vector<std::size_t> order(rows.label.size());
  std::iota(order.begin(), order.end(), 0U);
  std::shuffle(order.begin(), order.end(), std::mt19937(seed));
  TrainingRows result;
  result.width = rows.width;
  for (const std::size_t row : order) {
    result.label.push_back(rows.label[row]);
    const auto first = rows.features.begin() + static_cast<std::ptrdiff_t>(row * rows.width);
    result.features.insert(result.features.end(), first, first + static_cast<std::ptrdiff_t>(rows.width));
  }
  return result;
}

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

std::string complaint(const std::string& params) {
  return message_of([&] { parse_params(params); });
}

TEST_CASE("The same rows in any order give the same model, byte for byte", "[model]") {
  const std::size_t width = GENERATE(1, 2, 3, 5);
  const auto rows = fleet(4000, width);
  const auto params = small(width, R"("num_round":10,"subsample":0.8,"colsample_bynode":0.7,"seed":3)");
  const std::string model = train(rows, params);
  CHECK(train(shuffled(rows, 1), params) == model);
  CHECK(train(shuffled(rows, 2), params) == model);
}

#ifndef __SANITIZE_THREAD__  // libgomp is not instrumented: its threads look like races inside libxgboost
TEST_CASE("The number of threads does not change the model", "[model]") {
  const auto rows = fleet(4000, 2);
  const std::string one = train(rows, small(2, R"("num_round":10,"subsample":0.8,"nthread":1)"));
  CHECK(train(rows, small(2, R"("num_round":10,"subsample":0.8,"nthread":2)")) == one);
}
#endif

TEST_CASE("Another seed gives another sample of the rows", "[model]") {
  const auto rows = fleet(4000, 2);
  CHECK(train(rows, small(2, R"("num_round":3,"subsample":0.5,"seed":1)")) !=
        train(rows, small(2, R"("num_round":3,"subsample":0.5,"seed":2)")));
}

TEST_CASE("A trained model knows the names of its features and its rounds", "[model]") {
  const auto params = parse_params(R"({"features":["latency_ms","block_lag"],"n_estimators":7})");
  const auto model = compiled(train(fleet(500, 2), params));
  CHECK(model->feature_names() == std::vector<std::string>{"latency_ms", "block_lag"});
  CHECK(model->info().rounds == 7);
  CHECK(model->info().objective == "reg:squarederror");
}

TEST_CASE("Prediction starts from the labels' mean, unless base_score says otherwise", "[model]") {
  TrainingRows rows;
  rows.width = 1;
  for (const double label : {10.0, 20.0, 60.0}) rows.add(label, std::vector<double>{1});
  const auto base = [&](const std::string& more) {
    return forest_of(train(rows, small(1, "\"num_round\":1" + more))).base_score;
  };
  CHECK(base("") == 30);
  CHECK(base(R"(,"base_score":0.5)") == 0.5);
  CHECK(base(R"(,"objective":"reg:absoluteerror")") == 20);
  CHECK(base(R"(,"objective":"reg:gamma")") == 30);
}

TEST_CASE("A monotone constraint on the lag keeps predictions from falling as it grows", "[model]") {
  const std::string constraint = GENERATE(R"([0,1])", R"({"x1":1})", R"x("(0,1)")x");
  const auto model =
      compiled(train(fleet(2000, 2), small(2, R"("num_round":30,"monotone_constraints":)" + constraint)));
  for (double latency = 10; latency < 1000; latency += 50) {
    float last = 0;
    for (double lag = 0; lag <= 9; ++lag) {
      const float seconds = model->predict(std::vector<double>{latency, lag}, unlimited());
      CHECK(seconds >= last);
      last = seconds;
    }
  }
}

TEST_CASE("Labels outside an objective's range are refused before anything is trained", "[model]") {
  TrainingRows rows;
  rows.width = 1;
  rows.add(0, std::vector<double>{1});
  rows.add(5, std::vector<double>{2});
  const auto refused = [&](const std::string& objective) {
    return message_of([&] { train(rows, small(1, "\"objective\":\"" + objective + "\"")); });
  };
  CHECK(refused("reg:gamma") == "objective reg:gamma: labels must be above 0, got 0.000000");
  CHECK(refused("binary:logistic") == "objective binary:logistic: labels must be from 0 to 1, got 5.000000");
  CHECK(refused("count:poisson").empty());
}

TEST_CASE("Rows that are not numbers, or that are no rows, are refused", "[model]") {
  TrainingRows rows;
  rows.width = 1;
  CHECK(message_of([&] { train(rows, small(1)); }) == "no rows to train on");
  const std::vector<double> one{1};
  CHECK_THROWS_AS(rows.add(std::nan(""), one), std::invalid_argument);
  CHECK_THROWS_AS(rows.add(1e300, one), std::invalid_argument);
  CHECK_THROWS_AS(rows.add(1, std::vector<double>{-HUGE_VAL}), std::invalid_argument);
  CHECK_NOTHROW(rows.add(1, std::vector<double>{missing}));
  CHECK(rows.label.size() == 1);
}

TEST_CASE("A parameter that is unknown, out of range or given twice is named", "[model]") {
  const std::string features = R"({"features":["a","b"],)";
  CHECK(complaint(features + R"("max_depht":6})").starts_with("unknown parameter 'max_depht'; known are features"));
  CHECK(complaint(features + R"("max_depth":0})") ==
        "parameter max_depth: accepted is a whole number from 1 to 32, got 0");
  CHECK(complaint(features + R"("eta":1.5})") == "parameter eta: accepted is a number above 0 up to 1, got 1.5");
  CHECK(complaint(features + R"("subsample":"0.8"})") ==
        "parameter subsample: accepted is a number above 0 up to 1, got '0.8'");
  CHECK(complaint(features + R"("n_estimators":10.5})") ==
        "parameter n_estimators: accepted is a whole number from 1 to 100000, got 10.5");
  CHECK(complaint(features + R"("tree_method":"gpu_hist"})") ==
        "parameter tree_method: accepted is one of hist, approx, exact, got 'gpu_hist'");
  CHECK(complaint(features + R"("booster":"dart"})") == "parameter booster: accepted is gbtree, got 'dart'");
  CHECK(
      complaint(features + R"("eta":0.1,"learning_rate":0.1})").starts_with("parameter learning_rate is given twice"));
  CHECK(complaint(features + R"("verbosity":1})").starts_with("parameter verbosity"));
  CHECK(complaint(R"({"features":[]})").starts_with("parameter features: accepted is an array of 1 to 65536"));
  CHECK(complaint(R"({"features":["a","a"]})").ends_with("got a name twice"));
  CHECK(complaint(R"({})").starts_with("parameter features is missing"));
  CHECK(complaint(R"([1])").starts_with("params must be a JSON object"));
  CHECK(complaint(features + R"("monotone_constraints":[1]})").ends_with("one for each of the 2 features, got 1"));
  CHECK(complaint(features + R"("monotone_constraints":{"c":1}})").ends_with("names of `features`, got 'c'"));
  CHECK(complaint(features + R"("gamma":1,"seed":7,"max_bin":64,"reg_lambda":2,"num_round":5})").empty());
}

TEST_CASE("Training tells its progress and ends when it is interrupted", "[model]") {
  std::vector<int> seen;
  const auto progress = [&](int done, int rounds) {
    CHECK(rounds == 50);
    seen.push_back(done);
  };
  text::Budget budget([&] {
    if (seen.size() == 3) throw Ended();
  });
  CHECK_THROWS_AS(train(fleet(500, 2), small(2, "\"num_round\":50"), budget, progress), Ended);
  CHECK(seen == std::vector<int>{1, 2, 3});
}

TEST_CASE("Training ends at whichever pulse says so, and the next gives the same model", "[model]") {
  const auto rows = fleet(500, 2);
  const auto params = small(2, "\"num_round\":1");
  const std::string model = train(rows, params);
  for (int last = 1; last <= 3;
       ++last) {  // at least one before the rows are taken, one before the round, one before saving
    text::Budget budget([left = last]() mutable {
      if (--left == 0) throw Ended();
    });
    CHECK_THROWS_AS(model::train(rows, params, budget), Ended);
    CHECK(train(rows, params) == model);
  }
}

TEST_CASE("A task that nobody waits for any more goes on by itself", "[model]") {
  std::promise<void> may_end;
  const auto ended = std::make_shared<std::promise<void>>();
  {
    Worker worker;
    const auto task = [waits = may_end.get_future().share(), ended] {
      waits.wait();
      ended->set_value();
    };
    CHECK_THROWS_AS(worker.run(task, [] { throw Ended(); }), Ended);
  }
  may_end.set_value();
  CHECK_NOTHROW(ended->get_future().get());
}

TEST_CASE("What a task throws reaches who waits for it", "[model]") {
  Worker worker;
  int pulses = 0;
  CHECK_THROWS_AS(worker.run([] { throw Ended(); }, [&] { ++pulses; }), Ended);
  bool ran = false;
  worker.run([&] { ran = true; }, [&] { ++pulses; });
  CHECK(ran);
}

TEST_CASE("Training that asks for more memory than a model is worth is refused", "[model]") {
  const auto refused = [](std::size_t rows, const std::string& more) {
    return message_of([&] { train(fleet(rows, 10), small(10, more)); });
  };
  CHECK(refused(10'000, R"("max_bin":65536,"max_depth":32)") ==
        "a tree may need 30517 MiB of histograms, accepted are 1024: lower max_bin, max_depth or max_leaves");
  CHECK(refused(10'000, R"("max_bin":65536,"max_depth":32,"max_leaves":500,"tree_method":"approx")")
            .starts_with("a tree may need "));
  CHECK(refused(10, R"("num_round":100000,"num_parallel_tree":1000)") ==
        "num_round × num_parallel_tree is 100000000 trees, accepted are 100000");
  CHECK(refused(300, R"("num_round":1,"max_bin":65536,"max_depth":32)").empty());
  CHECK(refused(2'000, R"("num_round":1,"max_depth":32,"tree_method":"exact")").empty());
}

TEST_CASE("Training stops at a model that nobody reads", "[model]") {
  auto params = small(2, "\"num_round\":1000");
  CHECK(params.most_bytes == 64U << 20);
  params.most_bytes = 100'000;
  int done = 0;
  CHECK(message_of([&] { model::train(fleet(2000, 2), params, unlimited(), [&](int round, int) { done = round; }); }) ==
        "the model has grown beyond the 100000 bytes that are read: lower num_round, max_depth or max_leaves");
  CHECK(done < 100);
}

TEST_CASE("An error of XGBoost reads as one line without its source position", "[model]") {
  CHECK(
      clean_message("[12:34:56] ./src/objective/regression_obj.cu:66: label must be in [0,1] for logistic regression\n"
                    "Stack trace:\n  [bt] (0) libxgboost.so.0") == "label must be in [0,1] for logistic regression");
  CHECK(clean_message("[12:34:56] ./src/learner.cc:1: Check failed: a == b (1 vs. 2) : widths differ\nStack trace:") ==
        "widths differ");
  CHECK(clean_message("plain text") == "plain text");
  CHECK(clean_message("") == "an error without a message");
}

}  // namespace
}  // namespace rpcroute::model

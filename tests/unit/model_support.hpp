// Models and rows for the tests of the model room: trained here, or read where the shared examples are at hand.
#pragma once

#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <random>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/evaluator.hpp"
#include "model/forest.hpp"
#include "model/limits.hpp"
#include "model/train.hpp"

namespace rpcroute::model::test {

/// A budget that is never used up.
inline text::Budget& unlimited() {
  thread_local text::Budget budget;
  return budget;
}

inline std::shared_ptr<const Model> compiled(std::string_view content) {
  text::Budget budget(limits::model(content.size()));
  return Model::compile(std::as_bytes(std::span(content)), budget);
}

inline Forest forest_of(std::string_view content) {
  text::Budget budget(limits::model(content.size()));
  return read_model(std::as_bytes(std::span(content)), budget);
}

constexpr float missing = std::numeric_limits<float>::quiet_NaN();

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Example models beside the repository; tests that use them say the same about models of their own.
inline std::filesystem::path shared_data() {
  return std::filesystem::path(RPCROUTE_SOURCE_DIR).parent_path() / "shared" / "data";
}

/// Latencies with a long tail, small lags, hours, …: what a fleet of providers looks like. A twentieth is missing.
inline TrainingRows fleet(std::size_t rows, std::size_t width, const std::string& objective = "reg:squarederror",
                          unsigned seed = 1) {
  std::mt19937 random(seed);
  std::gamma_distribution<double> latency(2, 150);
  std::uniform_int_distribution<int> lag(0, 8);
  std::uniform_real_distribution<double> unit(0, 1);
  const bool classify = objective.starts_with("binary") || objective == "reg:logistic";
  TrainingRows result;
  result.width = width;
  for (std::size_t row = 0; row < rows; ++row) {
    std::vector<double> features(width);
    for (std::size_t i = 0; i < width; ++i) features[i] = i % 2 == 0 ? latency(random) : lag(random);
    const double seconds = 6 + features[0] / 100 + (width > 1 ? 4 * features[1] : 0) + 12 * unit(random);
    if (unit(random) < 0.05) features[row % width] = missing;
    result.add(classify ? (seconds > 25 ? 1 : 0) : seconds, features);
  }
  return result;
}

inline std::string names(std::size_t width) {
  std::string list;
  for (std::size_t i = 0; i < width; ++i) list += (i > 0 ? ",\"x" : "\"x") + std::to_string(i) + "\"";
  return list;
}

/// Parameters for a small model; `more` is the inside of a JSON object.
inline TrainParams small(std::size_t width, const std::string& more = "") {
  return parse_params("{\"features\":[" + names(width) + "]" + (more.empty() ? "" : "," + more) + "}");
}

inline std::string trained(std::size_t width, const std::string& objective = "reg:squarederror",
                           const std::string& more = "\"num_round\":20,\"max_depth\":4,\"learning_rate\":0.2") {
  return train(fleet(3000, width, objective), small(width, more + ",\"objective\":\"" + objective + "\""));
}

/// A model file as a tree to tamper with.
class Editable {
 public:
  explicit Editable(const std::string& json) {
    document.Parse<rapidjson::kParseFullPrecisionFlag>(json.data(), json.size());
  }
  rapidjson::Value& learner() { return document["learner"]; }
  rapidjson::Value& model() { return learner()["gradient_booster"]["model"]; }
  rapidjson::Value& tree(unsigned i) { return model()["trees"][i]; }
  rapidjson::Value& param() { return learner()["learner_model_param"]; }
  rapidjson::Value text(const std::string& value) { return {value, document.GetAllocator()}; }
  void set(rapidjson::Value& object, const char* key, rapidjson::Value value) {
    object.RemoveMember(key);
    object.AddMember(rapidjson::Value(key, document.GetAllocator()), value, document.GetAllocator());
  }
  std::string json() const {
    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer, rapidjson::UTF8<>, rapidjson::UTF8<>, rapidjson::CrtAllocator,
                      rapidjson::kWriteNanAndInfFlag>
        writer(buffer);
    document.Accept(writer);
    return {buffer.GetString(), buffer.GetSize()};
  }

  rapidjson::Document document;
};

/// Values of one feature that matter: its thresholds, their neighbours, and the odd ones.
inline std::vector<float> telling_values(const Forest& forest, std::uint32_t feature) {
  std::set<float> thresholds;
  for (const Tree& tree : forest.trees) {
    for (std::size_t node = 0; node < tree.size(); ++node) {
      if (!tree.is_leaf(node) && tree.feature[node] == feature) thresholds.insert(tree.value[node]);
    }
  }
  constexpr float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> values{missing, 0.0F, -0.0F, 1e-40F, -1e-40F, 1e30F, -1e30F, infinity, -infinity};
  for (const float threshold : thresholds) {
    values.push_back(threshold);
    values.push_back(std::nextafter(threshold, -infinity));
    values.push_back(std::nextafter(threshold, infinity));
  }
  return values;
}

/// Random rows, half of their values telling ones.
inline std::vector<float> telling_rows(const Forest& forest, std::size_t rows, unsigned seed = 7) {
  std::mt19937 random(seed);
  std::vector<std::vector<float>> telling;
  for (std::uint32_t i = 0; i < forest.num_feature; ++i) telling.push_back(telling_values(forest, i));
  std::gamma_distribution<float> any(1.5F, 120.0F);
  std::vector<float> result;
  for (std::size_t i = 0; i < rows * forest.num_feature; ++i) {
    const auto& values = telling[i % forest.num_feature];
    result.push_back(random() % 2 == 0 ? values[random() % values.size()] : any(random));
  }
  return result;
}

inline std::uint32_t bits(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

}  // namespace rpcroute::model::test

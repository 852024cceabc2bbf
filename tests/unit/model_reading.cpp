// Model files of every version are understood; corrupt and unusual ones are refused with the field's name.
#include <catch2/catch.hpp>
#include <functional>

#include "model/document.hpp"
#include "model/error.hpp"
#include "model/evaluator.hpp"
#include "model/rewrite.hpp"
#include "model_support.hpp"

namespace rpcroute::model {
namespace {

using namespace test;

const std::string& original() {
  static const std::string json = trained(2, "reg:squarederror", R"("num_round":5,"max_depth":3)");
  return json;
}

std::string edited(const std::function<void(Editable&)>& edit) {
  Editable model(original());
  edit(model);
  return model.json();
}

std::string refusal_of(std::string_view content) {
  try {
    forest_of(content);
  } catch (const ModelError& error) {
    return error.what();
  } catch (const text::OverBudget& error) {
    return error.what();
  }
  return "accepted";
}

std::string refusal(const std::function<void(Editable&)>& edit) {
  return refusal_of(edited(edit));
}

bool same_predictions(const std::string& a, const std::string& b) {
  const auto one = compiled(a);
  const auto other = compiled(b);
  const auto rows = telling_rows(one->forest(), 500);
  for (std::size_t i = 0; i < rows.size(); i += 2) {
    const std::vector<double> features{rows[i], rows[i + 1]};
    if (bits(one->predict(features, unlimited())) != bits(other->predict(features, unlimited()))) return false;
  }
  return true;
}

TEST_CASE("A model means the same in the spelling of XGBoost 3.4", "[model]") {
  const std::string later = edited([](Editable& model) {
    model.set(model.document, "version", rapidjson::Value(rapidjson::kArrayType));
    for (const int number : {3, 4, 1}) model.document["version"].PushBack(number, model.document.GetAllocator());
    const std::string base = model.param()["base_score"].GetString();
    model.set(model.param(), "base_score", model.text("[" + base + "]"));
    rapidjson::Value cats(rapidjson::kObjectType);
    for (const char* key : {"enc", "feature_segments", "sorted_idx"}) {
      model.set(cats, key, rapidjson::Value(rapidjson::kArrayType));
    }
    model.set(model.model(), "cats", std::move(cats));
    rapidjson::Value begins(rapidjson::kArrayType);
    for (int round = 0; round <= 5; ++round) begins.PushBack(round, model.document.GetAllocator());
    model.set(model.model(), "iteration_indptr", std::move(begins));
    model.model()["gbtree_model_param"].RemoveMember("size_leaf_vector");
    for (auto& tree : model.model()["trees"].GetArray()) {
      model.set(tree["tree_param"], "size_leaf_vector", model.text("1"));
    }
  });
  CHECK(same_predictions(original(), later));
  CHECK(compiled(later)->info().written_by == "3.4.1");
  CHECK(compiled(later)->info().rounds == 5);
}

TEST_CASE("A model means the same in the spelling of XGBoost 1.0", "[model]") {
  const std::string earlier = edited([](Editable& model) {
    model.document["version"][1].SetInt(0);
    for (const char* key : {"num_target", "boost_from_average"}) model.param().RemoveMember(key);
    model.learner().RemoveMember("feature_names");
    model.learner().RemoveMember("feature_types");
    model.model()["gbtree_model_param"].RemoveMember("num_parallel_tree");
    for (auto& tree : model.model()["trees"].GetArray()) {
      for (const char* key :
           {"split_type", "categories", "categories_nodes", "categories_segments", "categories_sizes"}) {
        tree.RemoveMember(key);
      }
      for (auto& direction : tree["default_left"].GetArray()) direction.SetBool(direction.GetInt() != 0);
    }
  });
  CHECK(same_predictions(original(), earlier));
  CHECK(compiled(earlier)->feature_names() == std::vector<std::string>{"f0", "f1"});
}

TEST_CASE("base_score is read in every spelling", "[model]") {
  const auto base = [](rapidjson::Value value) {
    Editable model(original());
    model.set(model.param(), "base_score", std::move(value));
    return forest_of(model.json()).base_score;
  };
  rapidjson::MemoryPoolAllocator<> memory;
  const auto text = [&](const char* value) { return rapidjson::Value(value, memory); };
  CHECK(base(text("[1.28E1]")) == 12.8F);
  CHECK(base(text("1.28E1")) == 12.8F);
  CHECK(base(text("12.8")) == 12.8F);
  CHECK(base(text("-3")) == -3.0F);
  CHECK(base(rapidjson::Value(12.5)) == 12.5F);
  CHECK(base(rapidjson::Value(12)) == 12.0F);
}

TEST_CASE("A base_score that is no number is refused instead of becoming 0.5", "[model]") {
  const auto with = [](const std::string& base) {
    return refusal([&](Editable& model) { model.set(model.param(), "base_score", model.text(base)); });
  };
  const std::string field = "model refused: learner.learner_model_param.base_score ";
  CHECK(with("") == field + "is \"\", not a number");
  CHECK(with("abc") == field + "is \"abc\", not a number");
  CHECK(with("[1,2]") == field + "has 2 values: only models with one output are evaluated");
  CHECK(with("[]") == field + "is \"[]\", not a number");
  CHECK(with("nan") == field + "lies outside the domain of reg:squarederror");
  CHECK(with("1e99").starts_with(field));
  CHECK(refusal([](Editable& model) {
          model.set(model.param(), "base_score", model.text("1"));
          model.set(model.learner()["objective"], "name", model.text("binary:logistic"));
        }) == field + "lies outside the domain of binary:logistic");
}

TEST_CASE("Decimals become the nearest single-precision number", "[model]") {
  // Just below the middle of 1 + 2^-23 and 1 + 2^-22; its nearest double is the middle itself, which rounds up.
  const std::string decimal = "1.000000178813934326171874";
  CHECK(forest_of(edited([&](Editable& model) {
          model.set(model.param(), "base_score", model.text(decimal));
        })).base_score == 1.0F + 0x1p-23F);
  std::string json =
      edited([&](Editable& model) { model.set(model.param(), "base_score", model.text("placeholder")); });
  json.replace(json.find("\"placeholder\""), 13, decimal);
  CHECK(forest_of(json).base_score == 1.0F + 0x1p-23F);
}

TEST_CASE("What cannot be evaluated exactly is refused with its name", "[model]") {
  const auto objective = [](const char* name) {
    return refusal([&](Editable& model) { model.set(model.learner()["objective"], "name", model.text(name)); });
  };
  CHECK(objective("multi:softprob") ==
        "model refused: learner.objective.name is \"multi:softprob\", an objective that is not evaluated");
  CHECK(objective("my:own").find("\"my:own\"") != std::string::npos);
  CHECK(objective("reg:quantileerror") == "accepted");

  const std::string booster = "model refused: learner.gradient_booster.";
  CHECK(refusal([](Editable& model) {
          model.set(model.learner()["gradient_booster"], "name", model.text("dart"));
        }).starts_with(booster + "name is \"dart\": DART models are not evaluated"));
  CHECK(refusal([](Editable& model) {
          model.set(model.learner()["gradient_booster"], "name", model.text("gblinear"));
        }) == booster + "name is \"gblinear\", only \"gbtree\" is evaluated");
  CHECK(refusal([](Editable& model) {
          model.set(model.learner()["gradient_booster"], "weight_drop", rapidjson::Value(rapidjson::kArrayType));
        }).starts_with(booster + "weight_drop is present: DART"));
  CHECK(refusal([](Editable& model) {
          model.set(model.model(), "weight_drop", rapidjson::Value(rapidjson::kArrayType));
        }).starts_with(booster + "model.weight_drop is present: DART"));

  const std::string param = "model refused: learner.learner_model_param.";
  CHECK(refusal([](Editable& model) {
          model.set(model.param(), "num_class", model.text("3"));
        }).starts_with(param + "num_class is more than 1"));
  CHECK(refusal([](Editable& model) {
          model.set(model.param(), "num_target", model.text("2"));
        }).starts_with(param + "num_target is more than 1"));
  CHECK(refusal([](Editable& model) {
          model.set(model.tree(0)["tree_param"], "size_leaf_vector", model.text("2"));
        }).starts_with(booster + "model.trees[0].tree_param.size_leaf_vector is more than 1"));
  CHECK(refusal([](Editable& model) { model.tree(0)["split_type"][0].SetInt(1); }) ==
        booster + "model.trees[0].split_type[0] is 1: categorical splits are not evaluated");
  CHECK(refusal([](Editable& model) {
          model.model()["tree_info"][2].SetInt(1);
        }).starts_with(booster + "model.tree_info[2] is not 0"));
  CHECK(refusal([](Editable& model) {
          rapidjson::Value cats(rapidjson::kObjectType);
          rapidjson::Value enc(rapidjson::kArrayType);
          enc.PushBack(1, model.document.GetAllocator());
          model.set(cats, "enc", std::move(enc));
          model.set(model.model(), "cats", std::move(cats));
        }) == booster + "model.cats.enc is not empty: categorical features are not evaluated");
  CHECK(refusal([](Editable& model) { model.document["version"][0].SetInt(9); }) ==
        "model refused: version begins with 9: models of XGBoost 1.0 to 3.x are read");
}

TEST_CASE("Trees that are no trees are refused at the node", "[model]") {
  const std::string tree = "model refused: learner.gradient_booster.model.trees[1].";
  const auto child = [](unsigned node, int left, int right) {
    return refusal([&](Editable& model) {
      model.tree(1)["left_children"][node].SetInt(left);
      model.tree(1)["right_children"][node].SetInt(right);
    });
  };
  const Editable known(original());
  const auto last =
      std::to_string(known.document["learner"]["gradient_booster"]["model"]["trees"][1]["left_children"].Size() - 1);
  CHECK(child(0, 0, 1) == tree + "left_children[0] is 0, accepted is -1 for a leaf or 1 to " + last);
  CHECK(child(1, 0, 1).starts_with(tree + "left_children[1] is 0"));
  CHECK(child(0, 100000000, 100000001).starts_with(tree + "left_children[0] is 100000000"));
  CHECK(child(0, 2, 1).starts_with(tree + "right_children[0] is 1, accepted is left_children + 1 = 3"));
  CHECK(child(0, -1, 2).starts_with(tree + "left_children[0] is -1"));
  CHECK(child(0, -1, -1) == tree + "left_children never reaches node 1");
  CHECK(child(1, 5, 6) == tree + "left_children[2] is 5, the child of another node too");
  CHECK(child(0, 3, 4).starts_with(tree + "left_children"));
  CHECK(child(0, 1, 3).starts_with(tree + "right_children[0] is 3"));

  CHECK(refusal([](Editable& model) { model.tree(1)["split_indices"][0].SetInt(5000000); }) ==
        tree + "split_indices[0] is 5000000, num_feature is 2");
  CHECK(refusal([](Editable& model) {
          model.tree(1)["split_indices"][0].SetInt(-1);
        }).starts_with(tree + "split_indices[0] is -1"));
  CHECK(refusal([](Editable& model) { model.tree(1)["default_left"][0].SetInt(2); }) ==
        tree + "default_left[0] is 2, not 0 or 1");
  CHECK(refusal([](Editable& model) { model.tree(1)["split_conditions"][3].SetDouble(1e300); }) ==
        tree + "split_conditions[3] is not finite");
  CHECK(refusal([](Editable& model) { model.tree(1)["split_conditions"][3].SetDouble(std::nan("")); }) ==
        tree + "split_conditions[3] is not finite");
}

TEST_CASE("Arrays and counts that contradict each other are refused", "[model]") {
  const std::string booster = "model refused: learner.gradient_booster.model.";
  const std::string array = GENERATE("left_children", "right_children", "split_indices", "split_conditions",
                                     "default_left", "loss_changes", "sum_hessian", "base_weights", "parents");
  CHECK(refusal([&](Editable& model) {
          model.tree(2)[array].PopBack();
        }).starts_with(booster + "trees[2]." + array + " has "));
  CHECK(refusal([&](Editable& model) { model.tree(2).RemoveMember(array); }) ==
        booster + "trees[2]." + array + " is missing");
  CHECK(refusal([&](Editable& model) {
          model.set(model.tree(2), array.c_str(), model.text("x"));
        }).starts_with(booster + "trees[2]." + array + " is not an array"));
}

TEST_CASE("Counts of trees, features and names must be those of the file", "[model]") {
  const std::string booster = "model refused: learner.gradient_booster.model.";
  const auto num_trees = [](const char* number) {
    return refusal(
        [&](Editable& model) { model.set(model.model()["gbtree_model_param"], "num_trees", model.text(number)); });
  };
  CHECK(num_trees("100") == booster + "gbtree_model_param.num_trees is 100, trees has 5 elements");
  CHECK(num_trees("-1").starts_with(booster + "gbtree_model_param.num_trees is -1, accepted is 0 to"));
  CHECK(num_trees("5.0") == booster + "gbtree_model_param.num_trees is \"5.0\", not a whole number");
  CHECK(refusal([](Editable& model) {
          model.set(model.model()["gbtree_model_param"], "num_trees", model.text("0"));
          model.model()["trees"].Clear();
          model.model()["tree_info"].Clear();
        }) == booster + "gbtree_model_param.num_trees is 0: the model was never trained");
  CHECK(refusal([](Editable& model) {
          model.set(model.param(), "num_feature", model.text("3"));
        }).starts_with("model refused: learner.feature_names has 2 elements, num_feature is 3"));
  CHECK(refusal([](Editable& model) { model.learner()["feature_names"][1].SetString("x0"); }) ==
        "model refused: learner.feature_names[1] is \"x0\", a name that is already taken");
  CHECK(refusal([](Editable& model) { model.document.RemoveMember("learner"); }) ==
        "model refused: learner is missing");
  CHECK(refusal([](Editable& model) { model.learner().RemoveMember("learner_model_param"); }) ==
        "model refused: learner.learner_model_param is missing");
}

TEST_CASE("Nodes that pruning removed are left out", "[model]") {
  const std::string json =
      trained(2, "reg:squarederror", R"("num_round":10,"max_depth":6,"gamma":2000,"tree_method":"exact")");
  Editable file(json);
  int deleted = 0;
  for (const auto& tree : file.model()["trees"].GetArray()) {
    deleted += std::stoi(tree["tree_param"]["num_deleted"].GetString());
  }
  REQUIRE(deleted > 0);
  CHECK(forest_of(json).nodes() > 0);
  CHECK(same_predictions(json, rewrite_for_library(forest_of(json))));
}

TEST_CASE("A file cut off anywhere is refused", "[model]") {
  const std::string json = trained(2, "reg:squarederror", R"("num_round":1,"max_depth":2)");
  const std::string ubjson = rewrite_for_library(forest_of(json));
  std::size_t accepted = 0;
  for (const std::string& whole : {json, ubjson}) {
    REQUIRE(refusal_of(whole) == "accepted");
    for (std::size_t size = 0; size < whole.size(); ++size) {
      if (refusal_of(std::string_view(whole).substr(0, size)) == "accepted") ++accepted;
    }
  }
  CHECK(accepted == 0);
}

TEST_CASE("A file with a byte changed anywhere is refused or read, never worse", "[model]") {
  const std::string json = trained(2, "reg:squarederror", R"("num_round":1,"max_depth":2)");
  for (const std::string& whole : {json, rewrite_for_library(forest_of(json))}) {
    for (std::size_t at = 0; at < whole.size(); ++at) {
      for (const char byte : {'\0', '9', '\xFF', '['}) {
        std::string changed = whole;
        changed[at] = byte;
        CHECK_NOTHROW(refusal_of(changed));
      }
    }
  }
}

TEST_CASE("Something after the document is refused", "[model]") {
  const std::string ubjson = rewrite_for_library(forest_of(original()));
  CHECK(refusal_of(original() + "x").starts_with("model refused: not JSON at byte"));
  CHECK(refusal_of(original() + std::string("\0x", 2)).starts_with("model refused: something follows"));
  CHECK(refusal_of(original() + "\n") == "accepted");
  CHECK(refusal_of(ubjson + "x").starts_with("model refused: something follows"));
}

TEST_CASE("Nesting is bounded", "[model]") {
  std::string json;
  std::string ubjson = "{";
  for (int i = 0; i < 200'000; ++i) {
    json += "{\"a\":";
    ubjson +=
        "i\x01"
        "a{";
  }
  CHECK(refusal_of(json).starts_with("more than 32 levels"));
  CHECK(refusal_of(ubjson).starts_with("more than 32 levels"));
  CHECK(refusal_of("{\"a\":" + std::string(200'000, '[')).starts_with("more than 32 levels"));
  CHECK(refusal_of("{i\x01"
                   "a" +
                   std::string(200'000, '['))
            .starts_with("more than 32 levels"));
}

TEST_CASE("What is not a model file at all says so", "[model]") {
  CHECK(refusal_of("").starts_with("model refused: it does not begin with '{'"));
  CHECK(refusal_of("binf").starts_with("model refused: it does not begin with '{'"));
  CHECK(refusal_of("{").starts_with("model refused: not JSON"));
  CHECK(refusal_of("{}").starts_with("model refused: version is missing"));
  CHECK(refusal_of("{\"version\":1}").starts_with("model refused: version is not an array"));
  CHECK(refusal_of("{\"a\":1,\"a\":2}").starts_with("model refused: the key \"a\" appears twice"));
  CHECK(refusal_of("{\"a\":[1,{}]}").starts_with("model refused: an array mixes"));
  CHECK(refusal_of("{\"a\":\"\xff\"}").starts_with("model refused: not JSON"));
}

TEST_CASE("UBJSON lengths that exceed the file are refused before anything is allocated", "[model]") {
  const auto length = [](const std::string& head) {
    return "{i\x01"
           "a" +
           head + "L\x7f\xff\xff\xff\xff\xff\xff\xff";
  };
  for (const std::string head : {"[#", "[$d#", "[$U#", "S"}) {
    CHECK(refusal_of(length(head)).starts_with("model refused: a length that exceeds the document"));
  }
  CHECK(refusal_of("{i\x01"
                   "aSi\xff")
            .starts_with("model refused: a length that exceeds"));
  CHECK(refusal_of("{i\x01"
                   "a[$Z#i\x05}")
            .starts_with("model refused: a typed array of something other"));
  CHECK(refusal_of("{i\x01"
                   "aQ}")
            .starts_with("model refused: an unknown UBJSON type"));
}

TEST_CASE("UBJSON and JSON of one model are one model", "[model]") {
  CHECK(same_predictions(original(), rewrite_for_library(forest_of(original()))));
}

TEST_CASE("A DART model of XGBoost 3.4 is refused by its name or its weights", "[model]") {
  const auto folder = shared_data() / "models_xgboost_3_4";
  if (!std::filesystem::exists(folder)) return;
  for (const char* name : {"dart_2f.json", "dart_2f.ubj"}) {
    CHECK(refusal_of(read_file(folder / name)).find("DART models are not evaluated") != std::string::npos);
  }
}

TEST_CASE("A wrong number of features lists the right ones", "[model]") {
  const auto model = compiled(original());
  CHECK_THROWS_WITH(model->predict(std::vector<double>{1}, unlimited()), "the model takes 2 features (x0, x1), got 1");
}

}  // namespace
}  // namespace rpcroute::model

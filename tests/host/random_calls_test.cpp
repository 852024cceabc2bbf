// Every function and table with values of every storage class, from no argument to more than SQLite passes: whatever
// they say, it is a result or an error of ours. Seeded; RPCROUTE_SEED chooses another seed.
#include <sqlite3.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <regex>
#include <set>
#include <variant>

#include "host.hpp"

namespace {

using rpcroute::test::Host;

struct Blob {
  std::string bytes;
};
using Value = std::variant<std::nullptr_t, sqlite3_int64, double, std::string, Blob>;
using Values = std::vector<Value>;

/// XGBoost's JSON for one tree over `width` features that asks the last of them.
std::string model_of(int width) {
  std::string names;
  for (int i = 0; i < width; ++i) names += (i > 0 ? ",\"x" : "\"x") + std::to_string(i) + "\"";
  const std::string size = std::to_string(width);
  return R"({"learner":{"attributes":{},"feature_names":[)" + names +
         R"(],"feature_types":[],"gradient_booster":{"model":{"gbtree_model_param":{"num_parallel_tree":"1",)"
         R"("num_trees":"1"},"tree_info":[0],"trees":[{"base_weights":[0,-1,1],"categories":[],"categories_nodes":[],)"
         R"("categories_segments":[],"categories_sizes":[],"default_left":[1,0,0],"id":0,"left_children":[1,-1,-1],)"
         R"("loss_changes":[1,0,0],"parents":[2147483647,0,0],"right_children":[2,-1,-1],"split_conditions":[0.5,-1,1],)"
         R"("split_indices":[)" +
         std::to_string(width - 1) +
         R"(,0,0],"split_type":[0,0,0],"sum_hessian":[2,1,1],"tree_param":{"num_deleted":"0","num_feature":")" + size +
         R"(","num_nodes":"3","size_leaf_vector":"1"}}]},"name":"gbtree"},"learner_model_param":{"base_score":"5E-1",)"
         R"("boost_from_average":"1","num_class":"0","num_feature":")" +
         size +
         R"(","num_target":"1"},"objective":{"name":"reg:squarederror","reg_loss_param":{"scale_pos_weight":"1"}}},)"
         R"("version":[2,0,3]})";
}

/// Loopback ports where nobody listens, and what is no list of providers at all.
const std::vector<std::string> kProviders{
    R"([{"provider_id":"a","url":"http://127.0.0.1:1","chain":"devnet"}])",
    R"([{"provider_id":"a","url":"http://127.0.0.1:1"},{"provider_id":"b","url":"https://127.0.0.1:9","kind":"solana"}])",
    R"([{"provider_id":"a","url":"http://[::1]:1","ws_url":"ws://127.0.0.1:1","headers":"{}"}])",
    R"([{"provider_id":"a","url":"file:///etc/passwd"},{"provider_id":"b","url":"not a url"},{"provider_id":"c"}])",
    R"([{"provider_id":7,"url":[]}])",
    R"([{"provider_id":"a","url":"http://127.0.0.1:1"},{"provider_id":"a"}])",
    R"([{"provider_id":"a","url":"http://127.0.0.1:1","kind":"cobol","chain_id":-1,"surprise":{}}])",
    "[[[[[[[[[[[[[[[[",
    "[",
    "[]",
    "{}",
    "null"};

class Chooser {
 public:
  explicit Chooser(unsigned seed) : random_(seed) {}

  std::size_t below(std::size_t end) { return random_() % end; }

  template <class Container>
  const auto& of(const Container& container) {
    return container[below(std::size(container))];
  }

  Value value() {
    static const std::vector<sqlite3_int64> integers{0,
                                                     1,
                                                     2,
                                                     -1,
                                                     7,
                                                     100,
                                                     127,
                                                     1000,
                                                     4294967296,
                                                     1700000000,
                                                     2147483648,
                                                     std::numeric_limits<sqlite3_int64>::max(),
                                                     std::numeric_limits<sqlite3_int64>::min()};
    static const std::vector<double> reals{0.0,
                                           -0.0,
                                           0.5,
                                           1.0,
                                           0.95,
                                           1e300,
                                           -1e300,
                                           5e-324,
                                           9007199254740993.0,
                                           std::numeric_limits<double>::infinity(),
                                           9e18,
                                           -9e18,
                                           1e10,
                                           31.4,
                                           1700e6,
                                           -std::numeric_limits<double>::infinity()};
    static const std::vector<std::string> texts{"",
                                                "a",
                                                "1",
                                                "1.5",
                                                "0x10",
                                                "0x",
                                                "-1",
                                                " 7 ",
                                                "NaN",
                                                "one\0two" + std::string("\0x", 2),
                                                "\xff\xfe",
                                                "\xc3\x28",
                                                "wide",
                                                "two",
                                                "none",
                                                "l",
                                                "r",
                                                "main.l",
                                                "temp.nowhere",
                                                "(SELECT 1 AS k, 2 AS t)",
                                                "(SELECT",
                                                "k",
                                                "t",
                                                "k=k",
                                                "<",
                                                "nearest",
                                                "parallel",
                                                "sequential",
                                                "eth_blockNumber",
                                                "getSlot",
                                                "ws",
                                                "eth_sendRawTransaction",
                                                "node",
                                                "auto",
                                                "env:RPCROUTE_NONE",
                                                "file:/nonexistent",
                                                "devnet",
                                                "[]",
                                                "{}",
                                                "[1,2]",
                                                "{\"a\":1}",
                                                "[\"k\"]",
                                                "[\"k\",\"t\"]",
                                                "\"x\"",
                                                "null",
                                                "true",
                                                "[[[[[",
                                                "{\"features\":[\"x0\"]}",
                                                "{\"features\":[\"x0\"],\"num_round\":1}",
                                                "{\"x0\":1,\"x1\":2}",
                                                "left",
                                                "both",
                                                "[{\"provider_id\":\"a\",\"tx_hash\":\"0x00\"}]",
                                                "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"0x1\"}",
                                                std::string(5000, '['),
                                                std::string(70000, 'x'),
                                                "'; DROP TABLE l; --",
                                                "\xf0\x9f\x8c\x8d"};
    switch (below(8)) {
      case 0:
        return nullptr;
      case 1:
        return of(integers);
      case 2:
        return of(reals);
      case 3:
        return Blob{std::string(of(std::vector<std::size_t>{0, 1, 7, 4096}), '\0')};
      case 4:
        return Blob{noise(below(300))};
      case 5:
        return below(2) == 0 ? Value(model_of(2)) : Value(Blob{model_of(1 + static_cast<int>(below(3)))});
      default:
        return of(texts);
    }
  }

  /// What an argument of that name asks for; anything where the name says nothing.
  Value fitting(const std::string& name) {
    static const std::map<std::string, Values> fit{
        {"max_ahead", {sqlite3_int64{100}}},
        {"witness", {"a", "b"}},
        {"source", {"l", "r", "main.l", "\"r\""}},
        {"left_source", {"l", "r", "(SELECT 'a' AS k, 2 AS t, 1 AS rowid)"}},
        {"right_source", {"l", "r"}},
        {"by", {"k", "[\"k\"]", nullptr}},
        {"time", {"t"}},
        {"key", {"a", "b", Blob{std::string(1, '\0')}}},
        {"tolerance", {sqlite3_int64{900}, 0.5, nullptr}},
        {"match", {"<", "<=", ">", ">=", "nearest", "<>"}},
        {"columns", {"[\"k\",\"t\"]"}},
        {"unmatched", {"left", "right", "both"}},
        {"params",
         {R"({"features":["x0"],"num_round":1})", R"({"features":["x0","x1"],"num_round":2,"seed":7})", "[]"}},
        {"model", {"two", "wide", model_of(1), model_of(2), Blob{model_of(2)}}},
        {"features", {R"({"x0":1,"x1":2.5})", R"({"x0":null,"x1":2,"x2":3})"}},
        {"P", {sqlite3_int64{50}, 95.0}},
        {"json", {R"({"b":"0x0A","a":[1,null,"x"]})", R"({"jsonrpc":"2.0","id":1,"result":"0x1"})", "\"0x10\""}},
        {"a", {R"({"a":[1,2]})"}},
        {"b", {R"({"a":[1,3],"c":null})"}},
        {"method", {"eth_blockNumber", "eth_chainId", "getSlot", "eth_getBlockByNumber"}},
        {"mode", {"parallel", "sequential"}},
        {"samples", {sqlite3_int64{1}, sqlite3_int64{2}}},
        {"timeout_ms", {sqlite3_int64{20}}},
        {"deadline_ms", {sqlite3_int64{20}}},
        {"timeout_sec", {0.1}},
        {"poll_ms", {sqlite3_int64{10}}},
        {"n", {sqlite3_int64{1}, sqlite3_int64{2}}},
        {"wait", {sqlite3_int64{0}, sqlite3_int64{1}}},
        {"send", {sqlite3_int64{0}, sqlite3_int64{1}}},
        {"signer", {"node", "auto", "env:RPCROUTE_NONE", "file:/nonexistent"}},
        {"allow_mainnet", {sqlite3_int64{0}}}};
    if (name == "providers") return of(kProviders);
    if (const auto entry = fit.find(name); entry != fit.end()) return of(entry->second);
    return number();
  }

  Value number() { return below(2) == 0 ? Value(static_cast<sqlite3_int64>(below(1000))) : Value(below(1000) / 8.0); }

 private:
  std::string noise(std::size_t size) {
    std::string bytes(size, '\0');
    for (char& byte : bytes) byte = static_cast<char>(below(256));
    return bytes;
  }

  std::mt19937 random_;
};

unsigned seed() {
  const char* given = std::getenv("RPCROUTE_SEED");
  return given == nullptr ? 9 : static_cast<unsigned>(std::strtoul(given, nullptr, 10));
}

bool is_utf8(const std::string& text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t length = lead < 0x80 ? 1 : lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 0;
    if (length == 0 || i + length > text.size()) return false;
    for (std::size_t k = 1; k < length; ++k) {
      if ((static_cast<unsigned char>(text[i + k]) & 0xC0) != 0x80) return false;
    }
    i += length;
  }
  return true;
}

/// A database with what functions and tables may read, and providers that nobody answers for.
class Calls {
 public:
  explicit Calls(const char* entry = nullptr) : chooser(seed()) {
    if (const char* wanted = std::getenv("RPCROUTE_SQLITE")) REQUIRE(std::string(sqlite3_libversion()) == wanted);
    ::unsetenv("RPCROUTE_KEY");
    functions_before_ = all(bare_, "SELECT DISTINCT name FROM pragma_function_list");
    modules_before_ = all(bare_, "SELECT name FROM pragma_module_list");
    host.emplace(":memory:", entry);
    std::ifstream schema(RPCROUTE_SOURCE_DIR "/sql/schema.sql");
    host->run({std::istreambuf_iterator<char>(schema), {}});
    host->run(
        "UPDATE rpc_settings SET value = 20 WHERE key IN ('timeout_ms', 'ws_timeout_ms');"
        "INSERT INTO rpc_providers (provider_id, chain, url) VALUES ('a', 'devnet', 'http://127.0.0.1:1'), "
        "('b', 'devnet', 'nothing');"
        "CREATE TABLE l (k, t); INSERT INTO l VALUES ('a', 1), ('b', 2.5), (NULL, NULL), (x'00', 9), (1, 'late');"
        "CREATE TABLE r (k, t); INSERT INTO r SELECT k, t FROM l; CREATE TABLE v (x);");
    for (const int width : {2, 900}) {
      run("INSERT INTO rpc_models (model, content) VALUES (?, ?)",
          {width == 2 ? std::string("two") : std::string("wide"), model_of(width)});
    }
    for (int i = 0; i < 12; ++i) run("INSERT INTO v VALUES (?)", {chooser.value()});
  }

  ~Calls() {
    if (host) CHECK(host->close() == SQLITE_OK);
    sqlite3_close(bare_);
  }

  /// The names of a function's arguments; the last one repeats.
  std::vector<std::string> arguments_of(const std::string& function) {
    std::string signature =
        host->first("SELECT signature FROM rpcroute_reference WHERE kind <> 'table' AND name = '" + function + "'");
    std::vector<std::string> names;
    static const std::regex word("\\w+");
    for (std::sregex_iterator match(signature.begin(), signature.end(), word), end; match != end; ++match) {
      names.push_back(match->str());
    }
    names.erase(names.begin());  // its own
    if (names.empty()) names.emplace_back();
    return names;
  }

  /// Names of functions, and of tables, that loading added.
  std::vector<std::string> functions() {
    return added("SELECT DISTINCT name FROM pragma_function_list", functions_before_);
  }
  std::vector<std::string> tables() { return added("SELECT name FROM pragma_module_list", modules_before_); }

  int most_arguments() { return sqlite3_limit(host->db(), SQLITE_LIMIT_FUNCTION_ARG, -1); }

  /// SQLITE_DONE, or the error's code; `message` then says what.
  int run(const std::string& sql, const Values& values) {
    sqlite3* db = host->db();
    sqlite3_stmt* statement = nullptr;
    int code = sqlite3_prepare_v2(db, sql.c_str(), -1, &statement, nullptr);
    for (int i = 0; code == SQLITE_OK && i < static_cast<int>(values.size()); ++i) bind(statement, i + 1, values[i]);
    if (code == SQLITE_OK) {
      do {
        code = sqlite3_step(statement);
        for (int column = 0; code == SQLITE_ROW && column < sqlite3_column_count(statement); ++column) {
          sqlite3_column_blob(statement, column);
        }
      } while (code == SQLITE_ROW);
    }
    message = code == SQLITE_DONE ? "" : sqlite3_errmsg(db);
    sqlite3_finalize(statement);
    return code;
  }

  /// A result, or an error of `name`'s or of SQLite's own about how it is called.
  void check(const std::string& name, const std::string& sql, const Values& values) {
    const int code = run(sql, values);
    ++calls;
    if (code == SQLITE_DONE) {
      ++answered;
      return;
    }
    const bool ours = message.compare(0, name.size() + 2, name + ": ") == 0;
    const bool sqlites = message.find("arguments") != std::string::npos ||
                         message.find("misuse of") != std::string::npos ||
                         message.find("may not be used as a window function") != std::string::npos ||
                         message.find("pattern too complex") != std::string::npos;
    if (code == SQLITE_ERROR && is_utf8(message) && (ours || sqlites)) return;
    INFO("code " << code << ": " << message);
    INFO(sql.substr(0, 300));
    for (std::size_t i = 0; i < values.size() && i < 12; ++i) UNSCOPED_INFO("?" << i + 1 << " = " << shown(values[i]));
    CHECK(false);
  }

  static std::string shown(const Value& value) {
    if (const auto* integer = std::get_if<sqlite3_int64>(&value)) return std::to_string(*integer);
    if (const auto* real = std::get_if<double>(&value)) return std::to_string(*real);
    if (const auto* text = std::get_if<std::string>(&value)) return "'" + text->substr(0, 60) + "'";
    if (const auto* blob = std::get_if<Blob>(&value)) return "a blob of " + std::to_string(blob->bytes.size());
    return "NULL";
  }

  static std::string marks(std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) text += i > 0 ? ", ?" : "?";
    return text;
  }

  Chooser chooser;
  std::optional<Host> host;
  std::string message;
  int calls = 0;
  int answered = 0;

 private:
  static void bind(sqlite3_stmt* statement, int index, const Value& value) {
    if (const auto* integer = std::get_if<sqlite3_int64>(&value)) sqlite3_bind_int64(statement, index, *integer);
    if (const auto* real = std::get_if<double>(&value)) sqlite3_bind_double(statement, index, *real);
    if (const auto* text = std::get_if<std::string>(&value)) {
      sqlite3_bind_text(statement, index, text->data(), static_cast<int>(text->size()), SQLITE_TRANSIENT);
    }
    if (const auto* blob = std::get_if<Blob>(&value)) {
      sqlite3_bind_blob(statement, index, blob->bytes.data(), static_cast<int>(blob->bytes.size()), SQLITE_TRANSIENT);
    }
  }

  static std::set<std::string> all(sqlite3*& db, const char* sql) {
    if (db == nullptr) sqlite3_open(":memory:", &db);
    std::set<std::string> names;
    sqlite3_exec(
        db, sql,
        [](void* into, int, char** row, char**) {
          static_cast<std::set<std::string>*>(into)->insert(row[0]);
          return 0;
        },
        &names, nullptr);
    return names;
  }

  std::vector<std::string> added(const char* sql, const std::set<std::string>& before) {
    std::vector<std::string> names;
    for (const std::string& name : host->run(sql)) {
      if (!before.contains(name)) names.push_back(name);
    }
    REQUIRE_FALSE(names.empty());
    return names;
  }

  sqlite3* bare_ = nullptr;
  std::set<std::string> functions_before_;
  std::set<std::string> modules_before_;
};

}  // namespace

TEST_CASE("functions bear any values in any number", "[every-sqlite]") {
  Calls calls;
  for (const std::string& name : calls.functions()) {
    const std::vector<std::string> arguments = calls.arguments_of(name);
    std::vector<std::size_t> counts{0,  1,   2,   3,   4,   5,   6,   7,   8,    9,   16,
                                    64, 100, 126, 127, 128, 500, 901, 999, 1000, 1001};
    for (const std::string& arity :
         calls.host->run("SELECT DISTINCT narg FROM pragma_function_list WHERE name = '" + name + "'")) {
      const int taken = std::stoi(arity);
      for (int i = 0; i < 60; ++i)
        counts.push_back(taken >= 0 ? static_cast<std::size_t>(taken) : calls.chooser.below(6));
    }
    for (const std::size_t count : counts) {
      const std::size_t odd = calls.chooser.of(std::vector<std::size_t>{0, 1, 4, 10});  // of ten
      Values values;
      for (std::size_t i = 0; i < count; ++i) {
        values.push_back(calls.chooser.below(10) < odd
                             ? calls.chooser.value()
                             : calls.chooser.fitting(arguments[std::min(i, arguments.size() - 1)]));
      }
      const std::string call = name + "(" + Calls::marks(count) + ")";
      calls.check(name, "SELECT " + call, values);
      calls.check(name, "SELECT " + call + " FROM v", values);
      if (count == 0) continue;
      const std::string per_row = name + "(x" + (count > 1 ? ", " + Calls::marks(count - 1) : "") + ")";
      values.pop_back();
      calls.check(name, "SELECT " + per_row + " FROM v", values);
      calls.check(name, "SELECT " + per_row + " FROM v GROUP BY rowid % 3", values);
      calls.check(name, "SELECT " + per_row + " OVER (ORDER BY rowid ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING) FROM v",
                  values);
    }
  }
  CHECK(calls.answered > calls.calls / 10);
}

TEST_CASE("predictions take as many features as SQLite passes", "[every-sqlite]") {
  Calls calls;
  for (const std::string name : {"predict_confirm", "predict_confirm_contributions"}) {
    for (const int width : {1, 2, 124, 125, 126, 127, 128, 129, 500, 899, 900, 901, 998, 999, 1000}) {
      if (width + 1 > calls.most_arguments()) continue;
      for (const int given : {width - 1, width, width + 1}) {
        if (given + 1 > calls.most_arguments()) continue;
        Values values{model_of(width)};
        for (int i = 0; i < given; ++i) values.push_back(calls.chooser.number());
        const std::string sql = "SELECT " + name + "(" + Calls::marks(values.size()) + ")";
        INFO(name << " with " << given << " of " << width);
        const int code = calls.run(sql, values);
        INFO(calls.message);
        CHECK(code == (given == width ? SQLITE_DONE : SQLITE_ERROR));
        for (int i = 0; i < 4 && given > 0; ++i)
          values[1 + calls.chooser.below(values.size() - 1)] = calls.chooser.value();
        calls.check(name, sql, values);
        values[0] = std::string("wide");
        calls.check(name, sql, values);
        calls.host->run("UPDATE rpc_models SET active = 1 WHERE model = 'wide'");
        values.erase(values.begin());
        calls.check(name, "SELECT " + name + "(" + Calls::marks(values.size()) + ")", values);
      }
    }
  }
}

TEST_CASE("a stranger's view of a wide model does no harm", "[every-sqlite]") {
  for (const int features : {1, 125, 126, 127, 128, 900}) {
    Calls calls("sqlite3_rpcroute_offline_init");
    if (features + 1 > calls.most_arguments()) continue;
    std::string numbers;
    for (int i = 0; i < features; ++i) numbers += ", 1.5";
    calls.host->run("CREATE VIEW named AS SELECT predict_confirm('wide'" + numbers +
                    ") AS p; CREATE VIEW given AS SELECT predict_confirm('" + model_of(features) + "'" + numbers +
                    ") AS p; PRAGMA trusted_schema = OFF");
    for (const char* view : {"named", "given"}) {
      const int code = calls.run(std::string("SELECT p FROM ") + view, {});
      INFO(features << " features: " << calls.message);
      CHECK((code == SQLITE_DONE ||
             (code == SQLITE_ERROR && calls.message.find("predict_confirm") != std::string::npos)));
    }
  }
}

TEST_CASE("tables bear any values of their arguments", "[every-sqlite]") {
  Calls calls;
  for (const std::string& name : calls.tables()) {
    const auto hidden = calls.host->run("SELECT name FROM pragma_table_xinfo('" + name + "') WHERE hidden = 1");
    const auto columns = calls.host->run("SELECT name FROM pragma_table_xinfo('" + name + "') WHERE hidden = 0");
    const auto value_of = [&](const std::string& argument) -> Value {
      return calls.chooser.below(3) == 0 ? calls.chooser.value() : calls.chooser.fitting(argument);
    };
    // Each argument alone, as a term, beside providers that fail at once and times that end at once.
    for (const std::string& argument : hidden) {
      for (int repeat = 0; repeat < 25; ++repeat) {
        std::string sql = "SELECT * FROM " + name + " WHERE \"" + argument + "\" = ?";
        Values values{value_of(argument)};
        for (const std::string& other : hidden) {
          if (other == argument) continue;
          if (other == "providers") values.emplace_back(kProviders.front());
          if (other == "timeout_sec") values.emplace_back(0.1);
          if (other == "poll_ms") values.emplace_back(10.0);
          if (other == "timeout_ms" || other == "deadline_ms") values.emplace_back(sqlite3_int64{20});
          if (values.size() > static_cast<std::size_t>(std::count(sql.begin(), sql.end(), '?')))
            sql += " AND \"" + other + "\" = ?";
        }
        calls.check(name, sql, values);
      }
    }
    // By position, from none to one too many; and keys and other columns compared with anything.
    for (std::size_t count = 0; count <= hidden.size() + 1; ++count) {
      for (int repeat = 0; repeat < 12; ++repeat) {
        Values values;
        for (std::size_t i = 0; i < count; ++i) {
          const std::string argument = i < hidden.size() ? hidden[i] : "";
          const bool waits = argument == "timeout_sec" || argument == "samples" || argument == "n";
          values.push_back(waits ? Value(sqlite3_int64{1}) : value_of(argument));
        }
        const std::string call = name + (count > 0 ? "(" + Calls::marks(count) + ")" : "");
        calls.check(name, "SELECT * FROM " + call, values);
        values.push_back(calls.chooser.value());
        const std::string term =
            "\"" + calls.chooser.of(columns) + "\"" +
            calls.chooser.of(std::vector<std::string>{" = ?", " IN (?, 'a')", " IS ?", " > ?", " <> ?", " LIKE ?"});
        calls.check(name, "SELECT * FROM " + call + " WHERE " + term, values);
      }
    }
  }
  CHECK(calls.answered > calls.calls / 10);
}

// Work on a model ends when another thread interrupts it, before SQLite itself looks.
#include <catch2/catch.hpp>
#include <string>
#include <thread>

#include "host.hpp"

using rpcroute::test::Host;

namespace {

/// SQLite looks for an interrupt where its program jumps; between the calls of one expression it does not, so what
/// stands behind the work is reached unless the work itself ended.
class Interrupting {
 public:
  Interrupting() {
    sqlite3_create_function(host.db(), "interrupted_by_a_thread", 0, SQLITE_UTF8, this, interrupt, nullptr, nullptr);
    sqlite3_create_function(host.db(), "reached", 0, SQLITE_UTF8, this, reach, nullptr, nullptr);
    host.run(
        "CREATE TABLE m AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) "
        "SELECT train_confirm('{\"features\":[\"a\",\"b\"],\"num_round\":100}', i % 17, i % 31, i % 7) AS content "
        "FROM n");
  }

  /// What becomes of `work`, an expression over the model `content`.
  std::string run(const std::string& work) {
    reached_ = false;
    const std::string told =
        host.error("SELECT interrupted_by_a_thread(), length(" + work + "), reached() FROM m LIMIT 1");
    return reached_ ? "went on" : told;
  }

  Host host;

 private:
  static void interrupt(sqlite3_context* context, int, sqlite3_value**) {
    std::thread([db = sqlite3_context_db_handle(context)] { sqlite3_interrupt(db); }).join();
  }
  static void reach(sqlite3_context* context, int, sqlite3_value**) {
    static_cast<Interrupting*>(sqlite3_user_data(context))->reached_ = true;
  }

  bool reached_ = false;
};

}  // namespace

TEST_CASE("an interrupt ends the work on a model", "[every-sqlite]") {
  Interrupting database;
  REQUIRE(database.run("content") == "went on");  // SQLite did not look
  const std::string work =
      GENERATE("predict_confirm(content, 1, 2)", "predict_confirm_named(content, '{\"a\":1,\"b\":2}')",
               "predict_confirm_contributions(content, 1, 2)", "(SELECT evaluator FROM model_info(content))",
               "(SELECT gain FROM model_importance(content))");
  INFO(work);
  CHECK(database.run(work) == "interrupted");
  // The connection goes on, and the model was not kept half made.
  CHECK(database.host.first("SELECT " + work + " IS NOT NULL FROM m") == "1");
}

TEST_CASE("an interrupt ends explanations of a model that is ready", "[every-sqlite]") {
  Interrupting database;
  database.host.run("SELECT predict_confirm(content, 1, 2) FROM m");
  CHECK(database.run("predict_confirm_contributions(content, 1, 2)") == "interrupted");
}

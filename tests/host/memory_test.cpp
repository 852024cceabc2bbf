// A statement for everything that loading adds, and each of its allocations failing once: it ends in the right result
// or in SQLITE_NOMEM, and the connection is as good as before.
#include <dlfcn.h>
#include <execinfo.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <new>
#include <string_view>

#include "counting_server.hpp"
#include "host.hpp"

namespace {

/// Which allocation fails: of this thread, or of all the others.
thread_local bool here = false;
thread_local long until_failure_here = -1;  // negative: never
std::atomic<long> until_failure_elsewhere = -1;
std::atomic<bool> spared = false;

/// Whether XGBoost would end the process: one of its functions throws although declared not to, and a round of training
/// that was broken off reads what is not there.
bool would_crash() {
  void* frames[48];
  const int count = ::backtrace(frames, std::size(frames));
  return std::any_of(frames, frames + count, [](const void* frame) {
    Dl_info of{};
    const std::string_view name = ::dladdr(frame, &of) != 0 && of.dli_sname != nullptr ? of.dli_sname : "";
    return name.find("GetCfsCPUCount") != name.npos || name == "XGBoosterUpdateOneIter";
  });
}

bool fails_now() {
  if (spared || (here ? until_failure_here : until_failure_elsewhere.load()) < 0) return false;
  if ((here ? until_failure_here-- : until_failure_elsewhere--) != 0) return false;
  spared = would_crash();
  return !spared;
}

void* allocated(std::size_t size) {
  return fails_now() ? nullptr : std::malloc(size == 0 ? 1 : size);
}

}  // namespace

// Not inlined, where the compiler would miss the pair of an allocation in a library.
[[gnu::noinline]] void* operator new(std::size_t size) {
  if (void* const memory = allocated(size)) return memory;
  throw std::bad_alloc();
}

[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return allocated(size);
}

[[gnu::noinline]] void* operator new[](std::size_t size) {
  return ::operator new(size);
}

[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}

[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

[[gnu::noinline]] void operator delete[](void* memory) noexcept {
  std::free(memory);
}

[[gnu::noinline]] void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace {

using rpcroute::test::CountingServer;
using rpcroute::test::Host;

sqlite3_mem_methods sqlites_memory;

/// SQLite's memory fails likewise. Before the first connection, hence before main().
const int replaced = [] {
  sqlite3_config(SQLITE_CONFIG_GETMALLOC, &sqlites_memory);
  sqlite3_mem_methods failing = sqlites_memory;
  failing.xMalloc = [](int size) { return fails_now() ? nullptr : sqlites_memory.xMalloc(size); };
  failing.xRealloc = [](void* memory, int size) {
    return fails_now() ? nullptr : sqlites_memory.xRealloc(memory, size);
  };
  return sqlite3_config(SQLITE_CONFIG_MALLOC, &failing);
}();

/// The server in a process of its own, whose allocations are not meant.
class ServerProcess {
 public:
  ServerProcess() {
    int url[2];
    REQUIRE(::pipe(url) == 0);
    REQUIRE(::pipe(life_) == 0);
    process_ = ::fork();
    if (process_ == 0) {
      ::close(life_[1]);
      const CountingServer server;
      const std::string text = server.url();
      static_cast<void>(!::write(url[1], text.data(), text.size()));
      char end = 0;
      static_cast<void>(!::read(life_[0], &end, 1));
      ::_exit(0);
    }
    ::close(url[1]);
    char text[100];
    url_.assign(text, static_cast<std::size_t>(std::max<ssize_t>(::read(url[0], text, sizeof text), 0)));
    ::close(url[0]);
    ::close(life_[0]);
  }

  ~ServerProcess() {
    ::close(life_[1]);
    ::waitpid(process_, nullptr, 0);
  }

  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  const std::string& url() const { return url_; }

 private:
  int life_[2];
  pid_t process_;
  std::string url_;
};

std::size_t open_descriptors() {
  using Directory = std::filesystem::directory_iterator;
  return static_cast<std::size_t>(std::distance(Directory("/proc/self/fd"), Directory()));
}

enum class Where { this_thread, other_threads };

struct Ending {
  int code;
  std::string rows;
  bool failed;  ///< an allocation did
};

class Sweep {
 public:
  Sweep() {
    ::setenv("RPCROUTE_STATE_DIR", state_.c_str(), 1);
    ::setenv("RPCROUTE_KEY", ("0x" + std::string(64, '1')).c_str(), 1);
    sqlite3_db_config(host.db(), SQLITE_DBCONFIG_LOOKASIDE, nullptr, 0, 0);  // which would spare most allocations
    std::ifstream schema(RPCROUTE_SOURCE_DIR "/sql/schema.sql");
    host.run({std::istreambuf_iterator<char>(schema), {}});
    host.run("INSERT INTO rpc_providers (provider_id, chain, url) VALUES ('a', 'devnet', '" + server.url() +
             "'), ('b', 'devnet', '" + server.url() +
             "/b');"
             "UPDATE rpc_chains SET chain_id = 16 WHERE chain = 'devnet';"  // for that is all the server ever says
             "CREATE TABLE l (k, t, v); INSERT INTO l VALUES ('a', 1, 1), ('a', 2, 3), ('b', 3, 2), ('a', 4, 5);"
             "CREATE TABLE r AS SELECT k, t - 0.5 AS t, v || ' is more than a short string' AS v FROM l;"
             "INSERT INTO rpc_models (model, content, active) SELECT 'm', train_confirm("
             R"('{"features":["x","y"],"num_round":2}', v, t, v * t), 1 FROM l)");
  }

  ~Sweep() {
    ::unsetenv("RPCROUTE_KEY");
    ::unsetenv("RPCROUTE_STATE_DIR");
    CHECK(host.close() == SQLITE_OK);
    std::filesystem::remove_all(state_);
  }

  /// Runs the statement while the n-th allocation fails; never when negative.
  Ending run(const std::string& sql, Where where, long n) {
    static std::string rows;
    rows.clear();
    rows.reserve(std::size_t{1} << 18);  // so that it allocates nothing
    here = true;
    if (where == Where::this_thread) until_failure_here = n;
    if (where == Where::other_threads) until_failure_elsewhere = n;
    sqlite3_stmt* statement = nullptr;
    int code = sqlite3_prepare_v2(host.db(), sql.c_str(), -1, &statement, nullptr);
    while (code == SQLITE_OK || code == SQLITE_ROW) {
      code = sqlite3_step(statement);
      for (int column = 0; code == SQLITE_ROW && column < sqlite3_column_count(statement); ++column) {
        const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
        if (text == nullptr && sqlite3_column_type(statement, column) != SQLITE_NULL) code = SQLITE_NOMEM;
        rows += text == nullptr ? "NULL" : text;
        rows += '|';
      }
    }
    sqlite3_finalize(statement);
    const bool failed =
        n >= 0 && (where == Where::this_thread ? until_failure_here : until_failure_elsewhere.load()) < 0;
    until_failure_here = until_failure_elsewhere = -1;
    spared = false;
    here = false;
    return {code & 0xFF, code == SQLITE_DONE ? rows : sqlite3_errmsg(host.db()), failed};
  }

  ServerProcess server;
  Host host;

 private:
  std::string state_ = std::filesystem::temp_directory_path() / ("rpcroute-memory-" + std::to_string(::getpid()));
};

/// By kind and name; columns that no clock decides.
const std::map<std::string, std::string> statements{
    {"scalar asof_join", "SELECT asof_join('r', 'k', 't', 'a', t) FROM l"},
    {"scalar block_lag", "SELECT block_lag('0x3e8', '0x3eb'), block_lag(5000000, '1003', 100)"},
    {"scalar predict_confirm", "SELECT predict_confirm(t, v), predict_confirm('m', t, v) FROM l"},
    {"scalar predict_confirm_contributions", "SELECT predict_confirm_contributions(t, v) FROM l"},
    {"scalar predict_confirm_named", "SELECT predict_confirm_named(NULL, json_object('x', t, 'y', v)) FROM l"},
    {"scalar rpc_canonical", R"(SELECT rpc_canonical('{"number":"0x01","hash":"0xAB","logs":[{"x":1}]}'))"},
    {"scalar rpc_diff", R"(SELECT rpc_diff('{"number":"0x1","a":[1,2]}', '{"number":"0x2","a":[1,3]}'))"},
    {"scalar rpc_digest", R"(SELECT rpc_digest('{"number":"0x01","hash":"0xAB"}', 'eth_getBlockByNumber'))"},
    {"scalar rpcroute_debug", "SELECT typeof(rpcroute_debug())"},
    {"scalar rpcroute_sha256", "SELECT rpcroute_sha256(v), rpcroute_sha256(t) FROM r"},
    {"scalar rpcroute_version", "SELECT rpcroute_version()"},
    {"aggregate train_confirm",
     R"(SELECT json_extract(train_confirm('{"features":["x","y"],"num_round":2}', v, t, v * t), '$.learner.objective') FROM l)"},
    {"aggregate weighted_percentile", "SELECT weighted_percentile(t, v, 50) FROM l GROUP BY k"},
    {"window function chain_head",
     "SELECT chain_head(t, 64, k) OVER (ORDER BY t ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM l"},
    {"window function median", "SELECT median(v) OVER (ORDER BY t) FROM l"},
    {"window function percentile",
     "SELECT percentile(v, 95) OVER (ORDER BY t ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM l"},
    {"table asof_join", R"(SELECT left_rowid, gap, c1 FROM asof_join('l', 'r', 'k', 't', 900, '<', '["v"]'))"},
    {"table model_importance", "SELECT * FROM model_importance((SELECT content FROM rpc_models))"},
    {"table model_info", "SELECT objective, rounds, features FROM model_info('m')"},
    {"table rpc_call", "SELECT provider_id, ok, result, digest, error FROM rpc_call('eth_chainId')"},
    {"table rpc_probe", "SELECT provider_id, ok, block_number, error FROM rpc_probe WHERE samples = 2"},
    {"table rpcroute_reference", "SELECT * FROM rpcroute_reference"},
    {"table tx_probe", "SELECT provider_id, state, error FROM tx_probe WHERE n = 1 AND provider_id = 'a' AND send = 0"},
    {"table tx_send",
     R"(SELECT tx_hash, state, error FROM tx_send('[{"provider_id":"a","tx_hash":"0x3b0c6a275298ec57bb53e776bc9bed276d2a100ceaab719ac5a1eb9eef1ff9b9","raw":"0x02f86e8429b9270111843b9aca0084b2d05e0082520894f52b978d064a638e263ad7b397172e414c20ba848080c001a0ae27e0a8db86a9d93ed5c9dc65ac17e83daeb4475b5b798956696b4d6fb79894a0121aa1fea1820983482260e1b679d3fd983f6a83788df699d745012ba02a79cb","timestamp":1}]') WHERE timeout_sec = 0.1 AND poll_ms = 10)"},
    {"table tx_wait", "SELECT tx_hash, state, error FROM tx_wait('[]')"},  // others take seconds
};

}  // namespace

TEST_CASE("whatever allocation fails, a statement has the right result or is out of memory") {
  REQUIRE(replaced == SQLITE_OK);
  Sweep sweep;
  std::map<std::string, std::string> unswept = statements;
  for (const std::string& entry : sweep.host.run("SELECT kind || ' ' || name FROM rpcroute_reference")) {
    INFO(entry);
    const auto found = unswept.extract(entry);
    REQUIRE_FALSE(found.empty());
    const std::string& sql = found.mapped();
    const Ending right = sweep.run(sql, Where::this_thread, -1);
    INFO(right.rows);
    REQUIRE(right.code == SQLITE_DONE);
    sweep.run(sql, Where::this_thread, -1);
    const std::size_t descriptors = open_descriptors();
    for (const Where where : {Where::this_thread, Where::other_threads}) {
      for (long n = 0;; n += n < 200 ? 1 : n / 20) {
        INFO((where == Where::this_thread ? "here " : "elsewhere ") << n);
        const Ending ending = sweep.run(sql, where, n);
        if (ending.code != SQLITE_NOMEM) {
          CHECK(ending.rows == right.rows);
          CHECK(ending.code == SQLITE_DONE);
        }
        const Ending next = sweep.run(sql, where, -1);
        CHECK(next.rows == right.rows);
        if (!ending.failed) break;
      }
    }
    // A few connections more may be kept warm, not one for each failure.
    CHECK(open_descriptors() <= descriptors + 8);
  }
  for (const auto& [name, sql] : unswept) FAIL_CHECK(name << " is nothing that loading adds");
}

// Two SQLite libraries in one process, as when a program that has SQLite linked into it embeds Python: each has memory
// and structures of its own, and what one knows the other would crash on. Not under the sanitizers, which do not allow
// RTLD_DEEPBIND.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

#define SQLITE_CORE 1  // the structure alone, not the macros that call through it
#include <dlfcn.h>
#include <sqlite3ext.h>
#include <stdlib.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "host.hpp"

using rpcroute::test::Host;

namespace {

/// A copy of the process's SQLite library under another name: another library to the loader. It stays open, as rpcroute
/// would if that had loaded it.
void* second_sqlite() {
  Dl_info first{};
  if (dladdr(reinterpret_cast<void*>(&sqlite3_libversion), &first) == 0) return nullptr;
  std::string directory = std::filesystem::temp_directory_path() / "rpcroute-XXXXXX";
  if (mkdtemp(directory.data()) == nullptr) return nullptr;
  const std::string copy = directory + "/second.so";
  std::filesystem::copy_file(std::filesystem::canonical(first.dli_fname), copy);
  void* const library = dlopen(copy.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  std::filesystem::remove_all(directory);
  return library;
}

template <class Function>
Function* of(void* library, const char* name, Function*) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}
#define SECOND(function) of(second, #function, &function)

}  // namespace

TEST_CASE("a second SQLite library in the process is refused with a message, and the first goes on") {
  void* const second = second_sqlite();
  REQUIRE(second != nullptr);
  REQUIRE(SECOND(sqlite3_libversion) != &sqlite3_libversion);
  Host first;
  for (int attempt = 0; attempt < 2; ++attempt) {
    sqlite3* db = nullptr;
    REQUIRE(SECOND(sqlite3_open)(":memory:", &db) == SQLITE_OK);
    SECOND(sqlite3_enable_load_extension)(db, 1);
    for (const char* entry : {"sqlite3_rpcroute_init", "sqlite3_rpcroute_offline_init"}) {
      char* message = nullptr;
      CHECK(SECOND(sqlite3_load_extension)(db, RPCROUTE_EXTENSION, entry, &message) == SQLITE_ERROR);
      REQUIRE(message != nullptr);
      CHECK_THAT(message, Catch::Contains("rpcroute already serves another SQLite library in this process (version " +
                                          std::string(sqlite3_libversion())));
      SECOND(sqlite3_free)(message);
    }
    CHECK(SECOND(sqlite3_exec)(db, "SELECT rpcroute_version()", nullptr, nullptr, nullptr) == SQLITE_ERROR);
    CHECK(SECOND(sqlite3_close)(db) == SQLITE_OK);
  }
  CHECK(Host().first("SELECT block_lag(1, 3)") == "2");
  CHECK(first.first("SELECT block_lag(1, 3)") == "2");
}

TEST_CASE("what a SQLite without extensions or an old one loads is refused too, and does not keep another from it") {
  void* const library = dlopen(RPCROUTE_EXTENSION, RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library != nullptr);
  using Entry = int(sqlite3*, char**, const sqlite3_api_routines*);
  auto* const load = reinterpret_cast<Entry*>(dlsym(library, "sqlite3_rpcroute_init"));
  char* message = nullptr;
  CHECK(load(nullptr, &message, nullptr) == SQLITE_ERROR);
  sqlite3_api_routines old{};
  old.libversion = [] { return "3.37.2"; };
  old.libversion_number = [] { return 3037002; };
  old.mprintf = sqlite3_mprintf;
  CHECK(load(nullptr, &message, &old) == SQLITE_ERROR);
  CHECK(std::string(message) == "rpcroute needs SQLite 3.38 or newer; this is 3.37.2");
  sqlite3_free(message);
  CHECK(Host().first("SELECT block_lag(1, 3)") == "2");
}

#endif

// How a name is documented: the source of rpcroute_reference and, through it, of the README's reference.
#pragma once

namespace rpcroute::sqlite {

struct Doc {
  const char* signature;  ///< as the user writes it, options in brackets
  const char* summary;    ///< one or two sentences: what comes out, what NULL does, what is an error
  const char* example;    ///< SQL that runs
};

/// How far a function or table reaches. SQLite learns it as a flag: what a stranger's view or trigger may call.
enum class Reach {
  pure,    ///< nothing but its arguments: INNOCUOUS
  models,  ///< rpc_models of the main database, by nested SQL: no flag, so trusted_schema decides
  reads,   ///< tables that its arguments name, by nested SQL: DIRECTONLY, or it would name what its caller may not
  outside  ///< network, files, environment or keys: DIRECTONLY, and left out by sqlite3_rpcroute_offline_init
};

constexpr bool is_direct_only(Reach reach) {
  return reach == Reach::reads || reach == Reach::outside;
}

}  // namespace rpcroute::sqlite

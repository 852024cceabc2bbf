// How a name is documented: the source of rpcroute_reference and, through it, of the README's reference.
#pragma once

namespace rpcroute::sqlite {

struct Doc {
  const char* signature;  ///< as the user writes it, options in brackets
  const char* summary;    ///< one or two sentences: what comes out, what NULL does, what is an error
  const char* example;    ///< SQL that runs
};

/// What loading with sqlite3_rpcroute_offline_init leaves out.
enum class Reach {
  pure,    ///< touches nothing but its arguments and, read-only, ordinary tables: INNOCUOUS
  outside  ///< touches network, files, environment or keys: DIRECTONLY, absent offline
};

}  // namespace rpcroute::sqlite

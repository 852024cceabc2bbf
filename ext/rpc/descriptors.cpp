#include "rpc/descriptors.hpp"

#include <dirent.h>
#include <sys/resource.h>

#include <algorithm>
#include <memory>

namespace rpcroute::rpc {
namespace {

constexpr std::size_t reserve = 32;     // for the host: databases, journals, logs
constexpr std::size_t least = 8;        // below it nothing could be asked at all
constexpr std::size_t most = 1U << 20;  // RLIM_INFINITY is no number to plan with

struct CloseDirectory {
  void operator()(DIR* directory) const { closedir(directory); }
};

std::size_t open_descriptors() {
  const std::unique_ptr<DIR, CloseDirectory> directory(opendir("/proc/self/fd"));
  if (!directory) return 64;  // no /proc: a guess at a small host's needs
  std::size_t count = 0;
  while (readdir(directory.get()) != nullptr) ++count;
  return count - std::min<std::size_t>(count, 3);  // ".", ".." and the directory's own
}

}  // namespace

std::size_t spare_descriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return least;
  const std::size_t allowed = limit.rlim_cur == RLIM_INFINITY ? most : std::min<std::size_t>(limit.rlim_cur, most);
  const std::size_t used = open_descriptors() + reserve;
  return allowed > used + least ? allowed - used : least;
}

}  // namespace rpcroute::rpc

#include "rpc/descriptors.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>

namespace rpcroute::rpc {
namespace {

constexpr std::size_t most_reserved = 32;  // for the host: databases, journals, logs
constexpr std::size_t most = 1U << 20;     // RLIM_INFINITY is no number to plan with

struct CloseDirectory {
  void operator()(DIR* directory) const { closedir(directory); }
};

/// Open descriptors below `limit`; those above it, opened before it was lowered, take nothing of it.
std::size_t open_descriptors(std::size_t limit) {
  const std::unique_ptr<DIR, CloseDirectory> directory(opendir("/proc/self/fd"));
  if (!directory) return is_descriptor_shortage(errno) ? limit : 64;  // no /proc: a guess at a small host's needs
  const auto own = static_cast<unsigned long>(dirfd(directory.get()));
  std::size_t count = 0;
  while (const dirent* entry = readdir(directory.get())) {
    char* end = nullptr;
    const unsigned long number = std::strtoul(entry->d_name, &end, 10);
    if (end != entry->d_name && number < limit && number != own) ++count;
  }
  return count;
}

}  // namespace

std::size_t spare_descriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const std::size_t allowed = limit.rlim_cur == RLIM_INFINITY ? most : std::min<std::size_t>(limit.rlim_cur, most);
  const std::size_t left = allowed - std::min(allowed, open_descriptors(allowed));
  return left - std::min(most_reserved, left / 2);
}

bool is_descriptor_shortage(int error) {
  return error == EMFILE || error == ENFILE;
}

bool descriptor_is_free() {
  const int descriptor = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return !is_descriptor_shortage(errno);
  ::close(descriptor);
  return true;
}

Failure descriptor_shortage() {
  return {ErrorClass::config, "descriptors", "no file descriptor is free: raise the limit (ulimit -n)", {}};
}

}  // namespace rpcroute::rpc

// From the resolver's threads to the thread that waits for sockets.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "rpc/kept_exception.hpp"
#include "rpc/resolver.hpp"

namespace rpcroute::rpc {

/// Shared by the threads that may outlive its owner, who closes it.
class Mailbox {
 public:
  using Letter = std::pair<std::uint64_t, Resolution>;  // the ticket it is for

  /// Its descriptor is readable while there are letters; -1 when none was free.
  Mailbox() : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~Mailbox() { abandon(); }
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  int descriptor() const { return event_; }

  void put(Letter letter) {
    const std::lock_guard lock(mutex_);
    if (event_ < 0) return;
    thrown_.keep(false, [&] { return letters_.push_back(std::move(letter)), true; });
    const std::uint64_t one = 1;
    static_cast<void>(!::write(event_, &one, sizeof one));
  }

  /// Throws what kept a letter from getting in.
  std::vector<Letter> empty() {
    const std::lock_guard lock(mutex_);
    std::uint64_t count = 0;
    static_cast<void>(!::read(event_, &count, sizeof count));
    thrown_.rethrow();
    return std::exchange(letters_, {});
  }

  void close() {
    const std::lock_guard lock(mutex_);
    abandon();
  }

  /// In a forked child, where the mutex may be held by a thread that is not there.
  void abandon() {
    if (event_ >= 0) ::close(std::exchange(event_, -1));
  }

 private:
  std::mutex mutex_;
  int event_;
  std::vector<Letter> letters_;
  KeptException thrown_;
};

}  // namespace rpcroute::rpc

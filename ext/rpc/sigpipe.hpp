// Writing to a connection that the peer has closed must not kill the host.
#pragma once

#include <csignal>
#include <ctime>

namespace rpcroute::rpc {

/// Keeps SIGPIPE from this thread while it lives, and swallows the one it caused: libcurl with CURLOPT_NOSIGNAL leaves
/// that to its user, and a host's own disposition is not ours to change.
class SigpipeBlock {
 public:
  SigpipeBlock() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }

  ~SigpipeBlock() {
    constexpr timespec at_once{0, 0};
    if (!was_pending_) sigtimedwait(&pipe_, nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

  SigpipeBlock(const SigpipeBlock&) = delete;
  SigpipeBlock& operator=(const SigpipeBlock&) = delete;

 private:
  sigset_t pipe_;
  sigset_t before_;
  bool was_pending_ = false;
};

}  // namespace rpcroute::rpc

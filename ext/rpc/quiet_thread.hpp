// Threads of our own inside somebody else's process.
#pragma once

#include <csignal>
#include <thread>
#include <utility>

namespace rpcroute::rpc {

/// Starts a thread that receives no signals: Ctrl-C and the like are the host's, on its own threads.
template <class Work>
std::thread quiet_thread(Work work) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread thread(std::move(work));
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return thread;
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
}

}  // namespace rpcroute::rpc

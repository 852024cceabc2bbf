#include "model/worker.hpp"

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <list>
#include <mutex>
#include <utility>

namespace rpcroute::model {
namespace {

/// Threads whose tasks nobody waits for any more. Made after the library that the tasks run in was opened, so at exit
/// it waits for them before that library's own objects go.
class LeftAlone {
 public:
  static LeftAlone& get() {
    static LeftAlone threads;
    return threads;
  }

  void add(std::thread thread) {
    const std::lock_guard lock(mutex_);
    threads_.push_back({getpid(), std::move(thread)});
  }

 private:
  struct Entry {
    pid_t process;
    std::thread thread;
  };
  LeftAlone() = default;
  ~LeftAlone() {
    for (auto& [process, thread] : threads_) {
      // A child made by fork has the entry, but not the thread.
      if (process == getpid()) {
        thread.join();
      } else {
        thread.detach();
      }
    }
  }

  std::mutex mutex_;
  std::list<Entry> threads_;
};

}  // namespace

struct Worker::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  std::function<void()> task;
  std::exception_ptr failure;
  bool busy = false;
  bool ends = false;
};

Worker::Worker() : shared_(std::make_shared<Shared>()), thread_([shared = shared_] { loop(*shared); }) {}

Worker::~Worker() {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->ends = true;
    shared_->changed.notify_all();
  }
  if (left_alone_) {
    LeftAlone::get().add(std::move(thread_));
  } else {
    thread_.join();
  }
}

void Worker::run(std::function<void()> task, const text::Pulse& pulse) {
  constexpr std::chrono::milliseconds between_pulses{20};
  std::unique_lock lock(shared_->mutex);
  shared_->task = std::move(task);
  shared_->busy = true;
  shared_->changed.notify_all();
  while (!shared_->changed.wait_for(lock, between_pulses, [this] { return !shared_->busy; })) {
    lock.unlock();
    left_alone_ = true;  // unless the pulse returns
    pulse();
    left_alone_ = false;
    lock.lock();
  }
  if (shared_->failure) std::rethrow_exception(std::exchange(shared_->failure, nullptr));
}

void Worker::loop(Shared& shared) {
  std::unique_lock lock(shared.mutex);
  while (true) {
    shared.changed.wait(lock, [&] { return shared.busy || shared.ends; });
    if (!shared.busy) return;
    lock.unlock();
    std::exception_ptr failure;
    try {
      shared.task();
    } catch (...) {
      failure = std::current_exception();
    }
    shared.task = nullptr;  // what it owns goes on its own thread
    lock.lock();
    shared.failure = failure;
    shared.busy = false;
    shared.changed.notify_all();
  }
}

}  // namespace rpcroute::model

// One thread that does what it is given while the giver waits.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace rpcroute::model {

/// For libraries that keep state per thread. run() may be called from one thread only.
class Worker {
 public:
  Worker() : thread_([this] { loop(); }) {}
  ~Worker() {
    submit({});
    thread_.join();
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Runs the task on the worker's thread, waits for its end and rethrows what it threw.
  void run(std::function<void()> task) {
    submit(std::move(task));
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !busy_; });
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

 private:
  void submit(std::function<void()> task) {
    const std::lock_guard lock(mutex_);
    task_ = std::move(task);
    busy_ = true;
    changed_.notify_all();
  }

  void loop() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return busy_; });
      if (!task_) return;
      try {
        task_();
      } catch (...) {
        failure_ = std::current_exception();
      }
      busy_ = false;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> task_;
  std::exception_ptr failure_;
  bool busy_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace rpcroute::model

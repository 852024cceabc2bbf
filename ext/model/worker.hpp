// One thread that does what it is given while the giver waits.
#pragma once

#include <functional>
#include <memory>
#include <thread>

#include "text/budget.hpp"

namespace rpcroute::model {

/// For libraries that keep state per thread, and that nothing interrupts. run() may be called from one thread only.
class Worker {
 public:
  Worker();
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Runs the task on the worker's thread, waits for its end and rethrows what it threw. The pulse comes meanwhile;
  /// when it throws, the task is left alone with its thread and ends in its own time, at the latest before the process
  /// does: what it uses must belong to it. No other task follows.
  void run(std::function<void()> task, const text::Pulse& pulse);

 private:
  struct Shared;
  static void loop(Shared& shared);

  std::shared_ptr<Shared> shared_;
  std::thread thread_;
  bool left_alone_ = false;
};

}  // namespace rpcroute::model

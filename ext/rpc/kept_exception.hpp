// What a callback of a C library throws: the library's frames would be left as they stand.
#pragma once

#include <exception>
#include <utility>

namespace rpcroute::rpc {

/// Lets nothing out of a callback, and throws it when the library has returned.
class KeptException {
 public:
  /// What `work` gives, or `otherwise` when it threw.
  template <class Value, class Work>
  Value keep(Value otherwise, Work&& work) noexcept {
    try {
      return work();
    } catch (...) {
      exception_ = std::current_exception();
      return otherwise;
    }
  }

  void rethrow() {
    if (exception_) std::rethrow_exception(std::exchange(exception_, nullptr));
  }

 private:
  std::exception_ptr exception_;
};

}  // namespace rpcroute::rpc

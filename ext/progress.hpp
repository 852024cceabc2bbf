// A progress line for people: on stderr, when that is a terminal, unless RPCROUTE_PROGRESS=0.
#pragma once

#include <string>

namespace rpcroute {

class Progress {
 public:
  Progress();
  ~Progress();  ///< clears the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Replaces the line; at most ten times a second.
  void show(const std::string& text);

 private:
  bool wanted_;
  bool shown_ = false;
  long long next_ms_ = 0;
};

}  // namespace rpcroute

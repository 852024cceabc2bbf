#include "progress.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace rpcroute {
namespace {

bool wanted() {
  const char* setting = std::getenv("RPCROUTE_PROGRESS");
  return isatty(STDERR_FILENO) == 1 && (setting == nullptr || std::strcmp(setting, "0") != 0);
}

long long now_ms() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

}  // namespace

Progress::Progress() : wanted_(wanted()) {}

Progress::~Progress() {
  if (shown_) std::fputs("\r\033[K", stderr);
}

void Progress::show(const std::string& text) {
  if (!wanted_ || now_ms() < next_ms_) return;
  std::fprintf(stderr, "\r\033[K%s", text.c_str());
  std::fflush(stderr);
  shown_ = true;
  next_ms_ = now_ms() + 100;
}

}  // namespace rpcroute

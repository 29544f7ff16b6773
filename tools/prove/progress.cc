// SPDX-License-Identifier: MIT
#include "progress.h"

#include <unistd.h>

#include <cstdio>
#include <utility>

namespace repdl::prove {

Progress::Progress(std::string what, int64_t total)
    : what_(std::move(what)), total_(total), shown_(isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() {
  if (shown_) std::fprintf(stderr, "\r\033[K");
}

void Progress::Show(int64_t done) {
  const Clock::time_point now = Clock::now();
  if (!shown_ || now - drawn_ < std::chrono::milliseconds(200)) return;
  drawn_ = now;
  constexpr int kWidth = 30;
  const double part = static_cast<double>(done) / static_cast<double>(total_);
  const double left = std::chrono::duration<double>(now - start_).count() * (1 - part) / part;
  const int filled = static_cast<int>(part * kWidth);
  std::fprintf(stderr, "\r\033[K%s [%s%s] %3.0f %%, %.0f s left", what_.c_str(), std::string(filled, '#').c_str(),
               std::string(kWidth - filled, '.').c_str(), 100 * part, left);
}

}  // namespace repdl::prove

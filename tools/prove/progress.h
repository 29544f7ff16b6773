// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace repdl::prove {

/// A bar on the terminal, with the time that is left; nothing where standard error is none.
class Progress {
 public:
  Progress(std::string what, int64_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `done` of the total; draws a few times a second.
  void Show(int64_t done);

 private:
  using Clock = std::chrono::steady_clock;

  std::string what_;
  int64_t total_;
  bool shown_;
  Clock::time_point start_ = Clock::now(), drawn_;
};

}  // namespace repdl::prove

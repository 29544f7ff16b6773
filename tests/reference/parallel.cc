// SPDX-License-Identifier: MIT
#include "parallel.h"

#include <thread>
#include <vector>

namespace repdl::reference {
namespace {

int num_threads = 1;

}  // namespace

void SetThreads(int threads) { num_threads = threads; }

void ForEach(int64_t count, const std::function<void(int64_t)>& body) {
  auto run_part = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) body(i);
  };
  std::vector<std::thread> others;
  for (int t = 1; t < num_threads; ++t) {
    others.emplace_back(run_part, count * t / num_threads, count * (t + 1) / num_threads);
  }
  run_part(0, count / num_threads);
  for (std::thread& other : others) other.join();
}

}  // namespace repdl::reference

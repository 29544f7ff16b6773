// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>

#include "base/fp_env.h"
#include "base/out_of_line.h"
#include "repdl/threads.h"

namespace repdl {

namespace internal {
void RunTasks(int64_t num_tasks, void (*task)(void*, int64_t), void* context);
}  // namespace internal

/// `n`, the work that is worth a fork. In a build with forced forks it is `fewest`, so that the samples of the tests,
/// most of which are worth none, are shared among threads too.
constexpr int64_t Grain(int64_t n, [[maybe_unused]] int64_t fewest = 1) {
#ifdef REPDL_FORCED_FORKS
  return std::min(n, fewest);
#else
  return n;
#endif
}

/// Calls task(i) for every i in [0, num_tasks), on the threads of the pool. How the tasks meet the
/// threads changes from run to run, so a task must own what it writes. The first exception of a task
/// is thrown again here.
template <class Task>
void ParallelFor(int64_t num_tasks, const Task& task) {
  if (num_tasks <= 1 || GetNumThreads() == 1) {
    for (int64_t i = 0; i < num_tasks; ++i) OutOfLine(task, i);
    return;
  }
  struct Context {
    const Task* task;
    std::atomic_flag failed = ATOMIC_FLAG_INIT;
    std::exception_ptr error = nullptr;
  } context{&task};
  internal::RunTasks(
      num_tasks,
      [](void* p, int64_t i) {
        auto* c = static_cast<Context*>(p);
        const FpEnvGuard guard;
        try {
          OutOfLine(*c->task, i);
        } catch (...) {
          if (!c->failed.test_and_set()) c->error = std::current_exception();
        }
      },
      &context);
  if (context.error) std::rethrow_exception(context.error);
}

/// Calls body(begin, end) on disjoint ranges that cover [0, n). `grain` is the fewest indices worth a
/// fork: about 3 µs of work (a fork of the spinning pool costs about 0.3 µs, of a sleeping one 30).
template <class Body>
void ParallelRanges(int64_t n, int64_t grain, const Body& body) {
  if (n <= 0) return;
  grain = std::max<int64_t>(Grain(grain), 1);
  // Four ranges a thread even out the load without many hand-overs.
  const int64_t num_tasks = std::min((n + grain - 1) / grain, int64_t{4} * GetNumThreads());
  if (num_tasks <= 1 || GetNumThreads() == 1) {
    OutOfLine(body, int64_t{0}, n);
    return;
  }
  ParallelFor(num_tasks, [&](int64_t i) {
    const int64_t begin = n / num_tasks * i + std::min(i, n % num_tasks);
    const int64_t end = begin + n / num_tasks + (i < n % num_tasks ? 1 : 0);
    OutOfLine(body, begin, end);
  });
}

}  // namespace repdl

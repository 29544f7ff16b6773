// SPDX-License-Identifier: MIT
#include "base/parallel.h"

#include <chrono>
#include <cstdlib>
#include <mutex>
#include <system_error>
#include <thread>

#if defined(__linux__)
#include <sched.h>
#endif
#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

#include "repdl/error.h"

namespace repdl {
namespace {

constexpr int kMaxThreads = 1024;

/// WebAssembly has threads only where its host gives it some: without them the caller does all tasks of a job.
#if defined(__EMSCRIPTEN__) && !defined(__EMSCRIPTEN_PTHREADS__)
constexpr bool kHasThreads = false;
#else
constexpr bool kHasThreads = true;
#endif

void Pause() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  __asm__ __volatile__("yield");
#endif
}

int UsableCores() {
  if (!kHasThreads) return 1;
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
#endif
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

int DefaultNumThreads() {
  if (const char* text = std::getenv("OMP_NUM_THREADS")) {
    const long n = std::strtol(text, nullptr, 10);
    if (n >= 1) return static_cast<int>(std::min<long>(n, kMaxThreads));
  }
  return std::min(UsableCores(), kMaxThreads);
}

std::atomic<int> num_threads{0};  // 0: not asked for yet

/// Workers that spin for a while and then sleep. One job runs at a time; a second caller does its
/// job alone, as does a task that forks again.
class Pool {
 public:
  void Run(int64_t num_tasks, void (*task)(void*, int64_t), void* context, int max_workers) {
    std::unique_lock lock(busy_, std::try_to_lock);
    if (!lock.owns_lock()) {
      for (int64_t i = 0; i < num_tasks; ++i) task(context, i);
      return;
    }
    max_workers = kHasThreads ? static_cast<int>(std::min<int64_t>(max_workers, num_tasks - 1)) : 0;
    AddWorkers(max_workers);
    task_ = task, context_ = context, num_tasks_ = num_tasks, max_workers_ = max_workers;
    next_.store(0, std::memory_order_relaxed);
    gate_.store(kOpen, std::memory_order_release);
    epoch_.fetch_add(1, std::memory_order_release);
    epoch_.notify_all();
    Claim();
    // A worker that wakes up late finds the gate closed: nobody waits for it.
    gate_.fetch_and(~kOpen, std::memory_order_acq_rel);
    for (int spins = 0; gate_.load(std::memory_order_acquire) != 0; ++spins) {
      if (spins < 10000) {
        Pause();
      } else {
        std::this_thread::yield();
      }
    }
  }

 private:
  static constexpr uint32_t kOpen = uint32_t{1} << 31;  // the rest of the gate counts workers inside
  static constexpr std::chrono::microseconds kSpin{200};

  void AddWorkers(int max_workers) try {
    for (; num_workers_ < max_workers; ++num_workers_) {
      std::thread([this, epoch = epoch_.load()] { Work(epoch); }).detach();
    }
  } catch (const std::system_error&) {
    // The system gives no more threads: those that there are do the work.
  }

  void Claim() {
    for (;;) {
      const int64_t i = next_.fetch_add(1, std::memory_order_relaxed);
      if (i >= num_tasks_) return;
      task_(context_, i);
    }
  }

  bool Enter() {
    uint32_t gate = gate_.load(std::memory_order_acquire);
    while ((gate & kOpen) != 0 && static_cast<int>(gate & ~kOpen) < max_workers_) {
      if (gate_.compare_exchange_weak(gate, gate + 1, std::memory_order_acq_rel)) return true;
    }
    return false;
  }

  [[noreturn]] void Work(uint32_t seen);

  std::mutex busy_;
  int num_workers_ = 0;
  std::atomic<uint32_t> epoch_{0};
  std::atomic<uint32_t> gate_{0};
  std::atomic<int64_t> next_{0};
  // Written while the gate is closed and nobody is inside.
  void (*task_)(void*, int64_t) = nullptr;
  void* context_ = nullptr;
  int64_t num_tasks_ = 0;
  std::atomic<int> max_workers_{0};
};

thread_local bool inside_task = false;

void Pool::Work(uint32_t seen) {
  inside_task = true;
  for (;;) {
    const auto sleep_at = std::chrono::steady_clock::now() + kSpin;
    uint32_t epoch = epoch_.load(std::memory_order_acquire);
    for (int spins = 1; epoch == seen; ++spins) {
      Pause();
      if (spins % 64 == 0 && std::chrono::steady_clock::now() > sleep_at) epoch_.wait(seen);
      epoch = epoch_.load(std::memory_order_acquire);
    }
    seen = epoch;
    if (Enter()) {
      Claim();
      gate_.fetch_sub(1, std::memory_order_acq_rel);
    }
  }
}

// Never destroyed: workers may sleep in it while the process ends. A forked child has no workers,
// so it starts over with a fresh one.
Pool* pool = nullptr;

Pool* ThePool() {
  static std::once_flag once;
  std::call_once(once, [] {
    pool = new Pool;
#if defined(__unix__) || defined(__APPLE__)
    pthread_atfork(nullptr, nullptr, [] { pool = new Pool; });
#endif
  });
  return pool;
}

/// What SetParallelFor was given. Never freed, as an op may just be about to call it; so each is kept once. Without a
/// lock, which a forked child might find taken for ever.
struct HostPool {
  ParallelForFn parallel_for;
  void* pool;
  const HostPool* next;
};
std::atomic<const HostPool*> known_hosts{nullptr};
std::atomic<const HostPool*> host{nullptr};  // null: the own pool

const HostPool* Known(ParallelForFn parallel_for, void* pool_of_host) {
  const HostPool* first = known_hosts.load(std::memory_order_acquire);
  for (const HostPool* known = first; known != nullptr; known = known->next) {
    if (known->parallel_for == parallel_for && known->pool == pool_of_host) return known;
  }
  auto* made = new HostPool{parallel_for, pool_of_host, first};
  while (!known_hosts.compare_exchange_weak(made->next, made, std::memory_order_acq_rel)) {
  }
  return made;
}

/// Marks the calling thread as inside a task while it lives.
struct InsideTask {
  InsideTask() { inside_task = true; }
  ~InsideTask() { inside_task = false; }
};

}  // namespace

namespace internal {

void RunTasks(int64_t num_tasks, void (*task)(void*, int64_t), void* context) {
  if (inside_task) {
    for (int64_t i = 0; i < num_tasks; ++i) task(context, i);
    return;
  }
  const InsideTask inside;
  if (const HostPool* chosen = host.load(std::memory_order_acquire)) {
    chosen->parallel_for(chosen->pool, num_tasks, task, context);
  } else {
    ThePool()->Run(num_tasks, task, context, GetNumThreads() - 1);
  }
}

}  // namespace internal

int GetNumThreads() {
  int n = num_threads.load(std::memory_order_relaxed);
  if (n == 0) {
    n = DefaultNumThreads();
    int expected = 0;
    if (!num_threads.compare_exchange_strong(expected, n)) n = expected;
  }
  return n;
}

void SetNumThreads(int n) {
  REPDL_CHECK(n >= 1 && n <= kMaxThreads, "[set_num_threads] n must be between 1 and ", kMaxThreads, ", got ", n);
  num_threads.store(n, std::memory_order_relaxed);
}

void SetParallelFor(ParallelForFn parallel_for, void* pool_of_host) {
  host.store(parallel_for == nullptr ? nullptr : Known(parallel_for, pool_of_host), std::memory_order_release);
}

}  // namespace repdl

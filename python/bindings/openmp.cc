// SPDX-License-Identifier: MIT
#include "openmp.h"

#include <dlfcn.h>
#include <pthread.h>
#if defined(__linux__)
#include <link.h>
#endif

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "repdl/threads.h"

namespace repdl {
namespace {

// GNU's entry point of a parallel region, which LLVM's and Intel's runtimes offer too.
using GompParallel = void (*)(void (*body)(void*), void* data, unsigned num_threads, unsigned flags);
GompParallel gomp_parallel = nullptr;

int (*thread_number)() = nullptr;

/// Tasks that one thread does first, in order, so that ops on the same numbers find them in the cache of the same core.
struct alignas(64) Share {
  std::atomic<int64_t> next;
  int64_t end;
};
constexpr int64_t kMaxShares = 64;  // of more threads several have the same

struct Job {
  void (*task)(void*, int64_t);
  void* context;
  int64_t num_shares;
  std::array<Share, kMaxShares> shares;
};

/// Each thread does its share, then what is left of the others'.
void DoTasks(void* p) {
  auto* job = static_cast<Job*>(p);
  const int64_t own = thread_number() % job->num_shares;
  for (int64_t i = 0; i < job->num_shares; ++i) {
    Share& share = job->shares[static_cast<size_t>((own + i) % job->num_shares)];
    for (int64_t at; (at = share.next.fetch_add(1, std::memory_order_relaxed)) < share.end;)
      job->task(job->context, at);
  }
}

void RunJob(void*, int64_t num_tasks, void (*task)(void*, int64_t), void* context) {
  const int64_t threads = std::min<int64_t>(GetNumThreads(), num_tasks);
  Job job{task, context, std::min(threads, kMaxShares), {}};
  for (int64_t i = 0; i < job.num_shares; ++i) {
    Share& share = job.shares[static_cast<size_t>(i)];
    share.next.store(num_tasks * i / job.num_shares, std::memory_order_relaxed);
    share.end = num_tasks * (i + 1) / job.num_shares;
  }
  gomp_parallel(DoTasks, &job, static_cast<unsigned>(threads), 0);
}

/// The runtime's library among those that are loaded: torch's wheels bring their own copy, under a name of its own.
void* FindRuntime() {
  void* handle = nullptr;
#if defined(__linux__)
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* found) {
        const char* slash = std::strrchr(info->dlpi_name, '/');
        const std::string name = slash == nullptr ? info->dlpi_name : slash + 1;
        if (!name.starts_with("libgomp") && !name.starts_with("libomp") && !name.starts_with("libiomp5")) return 0;
        *static_cast<void**>(found) = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
        return 1;
      },
      static_cast<void*>(&handle));
#endif
  return handle;
}

/// Whether the process began as a fork and never called exec. The threads that its runtime counts on may then have
/// stayed with the parent, and a parallel region would wait for them for ever.
bool IsForked() {
#if defined(__linux__)
  std::ifstream file("/proc/self/stat");
  std::string line;
  std::getline(file, line);
  // The seventh field behind the name, which stands in parentheses.
  std::istringstream fields(line.substr(line.rfind(')') + 1));
  std::string skipped;
  for (int i = 0; i < 6; ++i) fields >> skipped;
  constexpr uint32_t kForkNoExec = 0x40;  // PF_FORKNOEXEC of the kernel
  uint32_t flags = 0;
  return fields >> flags && (flags & kForkNoExec) != 0;
#else
  return false;
#endif
}

}  // namespace

int SetOpenMpThreads(int count) {
  static void* const runtime = FindRuntime();
  if (runtime == nullptr) return count;
  static const auto get = reinterpret_cast<int (*)()>(dlsym(runtime, "omp_get_max_threads"));
  static const auto set = reinterpret_cast<void (*)(int)>(dlsym(runtime, "omp_set_num_threads"));
  if (get == nullptr || set == nullptr) return count;
  const int before = get();
  if (before != count) set(count);
  return before;
}

bool ShareOpenMp() {
  if (gomp_parallel == nullptr) {
    if (IsForked()) return false;
    void* runtime = FindRuntime();
    if (runtime == nullptr) return false;
    gomp_parallel = reinterpret_cast<GompParallel>(dlsym(runtime, "GOMP_parallel"));
    thread_number = reinterpret_cast<int (*)()>(dlsym(runtime, "omp_get_thread_num"));
    if (gomp_parallel == nullptr || thread_number == nullptr) {
      gomp_parallel = nullptr;
      return false;
    }
    pthread_atfork(nullptr, nullptr, [] { SetParallelFor(nullptr, nullptr); });
  }
  SetParallelFor(&RunJob, nullptr);
  return true;
}

}  // namespace repdl

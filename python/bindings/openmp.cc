// SPDX-License-Identifier: MIT
#include "openmp.h"

#include <dlfcn.h>
#include <pthread.h>
#if defined(__linux__)
#include <link.h>
#endif

#include <algorithm>
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

struct Job {
  int64_t num_tasks;
  void (*task)(void*, int64_t);
  void* context;
  std::atomic<int64_t> next = 0;
};

void RunJob(void*, int64_t num_tasks, void (*task)(void*, int64_t), void* context) {
  Job job{num_tasks, task, context};
  const auto claim = [](void* p) {
    auto* j = static_cast<Job*>(p);
    for (int64_t i; (i = j->next.fetch_add(1, std::memory_order_relaxed)) < j->num_tasks;) j->task(j->context, i);
  };
  gomp_parallel(claim, &job, static_cast<unsigned>(std::min<int64_t>(GetNumThreads(), num_tasks)), 0);
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
    if (gomp_parallel == nullptr) return false;
    pthread_atfork(nullptr, nullptr, [] { SetParallelFor(nullptr, nullptr); });
  }
  SetParallelFor(&RunJob, nullptr);
  return true;
}

}  // namespace repdl

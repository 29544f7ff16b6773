// SPDX-License-Identifier: MIT
#include "cuda/on_host/block.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cuda/on_host/asan.h"
#include "cuda/on_host/fiber.h"

namespace repdl::cuda {
// What kernels declare as `extern __shared__`: as much as a block of any device has, and a guard.
alignas(1024) unsigned char shared_memory[(227 << 10) + 1024];
}  // namespace repdl::cuda

namespace repdl::on_host {
namespace {

using cuda::shared_memory;

constexpr unsigned char kUnwritten = 0xff;  // a NaN, of every type
constexpr size_t kSharedLimit = 227 << 10, kSharedGuard = 1024;
#ifdef REPDL_ASAN
constexpr size_t kGuard = 0;  // the sanitizer has its own
#else
constexpr size_t kGuard = 256;
#endif

class KernelFault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

[[noreturn]] void Fault(const auto&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  throw KernelFault(text.str());
}

std::string NameOf(const std::source_location& where) {
  const std::string_view file = where.file_name();
  return std::string(file.substr(file.rfind('/') + 1)) + ":" + std::to_string(where.line());
}

bool IsSame(const std::source_location& a, const std::source_location& b) {
  return a.line() == b.line() && a.column() == b.column() && std::strcmp(a.file_name(), b.file_name()) == 0;
}

struct Copy {
  void* to;
  const void* from;
  size_t size, zeros;

  void Do() const {
    std::memcpy(to, from, size);
    std::memset(static_cast<std::byte*>(to) + size, 0, zeros);
  }
};

enum class Waits { kNothing, kBlock, kWarp };

struct Thread {
  ThreadNow now;
  size_t rank = 0;
  Fiber* fiber = nullptr;
  bool done = false;
  Waits waits = Waits::kNothing;
  std::source_location where;
  // Of an exchange.
  unsigned mask = 0, ballot = 0;
  int from = 0;
  uint64_t shows = 0, sees = 0;
  std::vector<Copy> copies;               // not committed yet
  std::vector<std::vector<Copy>> groups;  // committed ones
};

uint32_t schedule = 1;
int64_t num_stops = 0;
Barriers* barriers = nullptr;
const std::source_location* left_out = nullptr;
std::mt19937 draws;
BlockNow block_now;
std::vector<Thread> threads;
Thread* running = nullptr;
std::vector<std::unique_ptr<Fiber>> fibers;
std::vector<Fiber*> free_fibers;
std::map<const void*, size_t> allowed_shared;
cudaError_t last_error = cudaSuccess;
std::string last_fault;

void Stop(Waits waits, const std::source_location& where) {
  ++num_stops;
  running->waits = waits;
  running->where = where;
  running->fiber->Stop();
}

void Go(Thread& thread, const std::function<void()>& body) {
  if (thread.fiber == nullptr) {
    if (free_fibers.empty()) free_fibers.push_back(fibers.emplace_back(std::make_unique<Fiber>()).get());
    thread.fiber = free_fibers.back();
    free_fibers.pop_back();
    thread.fiber->Start(body);
  }
  running = &thread;
  thread.fiber->Resume();
  if (!thread.fiber->ended()) return;
  thread.done = true;
  // A copy that nobody waits for may come at any time: the last one is when the thread ends.
  for (const auto& group : thread.groups) std::ranges::for_each(group, &Copy::Do);
  std::ranges::for_each(thread.copies, &Copy::Do);
  free_fibers.push_back(thread.fiber);
}

/// Lets the threads of a warp go on whose exchanges are complete.
void EndExchanges(std::span<Thread> warp) {
  for (Thread& first : warp) {
    if (first.done || first.waits != Waits::kWarp) continue;
    unsigned there = 0;
    bool complete = true;
    for (Thread& other : warp) {
      if ((first.mask >> other.now.lane & 1) == 0) continue;
      if (other.done) {
        Fault("thread ", other.rank, " of the block has ended, and others of its warp wait for it at ",
              NameOf(first.where));
      }
      if (other.waits != Waits::kWarp) {
        complete = false;
        continue;
      }
      if (other.mask != first.mask || !IsSame(other.where, first.where)) {
        Fault("threads of a warp meet at different exchanges, ", NameOf(first.where), " and ", NameOf(other.where));
      }
      there |= 1u << other.now.lane;
    }
    if (!complete) continue;
    unsigned ballot = 0;
    for (Thread& other : warp) {
      if ((there >> other.now.lane & 1) != 0) ballot |= static_cast<unsigned>(other.shows & 1) << other.now.lane;
    }
    for (Thread& other : warp) {
      if ((there >> other.now.lane & 1) == 0) continue;
      other.ballot = ballot;
      if (other.from >= 0) {
        const bool is_there = other.from < kWarp && (there >> other.from & 1) != 0;
        other.sees = is_there ? warp[static_cast<size_t>(other.from)].shows : ~uint64_t{0};
      }
      other.waits = Waits::kNothing;
    }
  }
}

/// Lets all threads go on that wait at a barrier, once all do.
void EndBarrier(size_t left) {
  const Thread* waiting = nullptr;
  size_t count = 0;
  for (const Thread& thread : threads) {
    if (thread.done || thread.waits != Waits::kBlock) continue;
    waiting = &thread;
    ++count;
  }
  if (count == 0 || count < left) return;
  for (Thread& thread : threads) {
    if (thread.done) {
      Fault("thread ", thread.rank, " of the block has ended, and others wait at the barrier ", NameOf(waiting->where));
    }
    if (!IsSame(thread.where, waiting->where)) {
      Fault("threads of the block wait at different barriers, ", NameOf(thread.where), " and ", NameOf(waiting->where));
    }
  }
  for (Thread& thread : threads) thread.waits = Waits::kNothing;
}

void RunBlock(const std::function<void()>& body) {
  const dim3 size = block_now.size;
  threads.assign(size.Count(), Thread());
  for (size_t i = 0; i < threads.size(); ++i) {
    const auto rank = static_cast<unsigned>(i);
    threads[i].rank = i;
    threads[i].now = {dim3(rank % size.x, rank / size.x % size.y, rank / size.x / size.y), static_cast<int>(i % kWarp)};
  }
  std::vector<Thread*> order;
  uint32_t run = 0, rounds = 0;
  for (size_t left = threads.size(); left > 0;) {
    // Any of the warps may be far ahead of the others, or behind: also by some exchanges.
    if (rounds-- == 0) {
      run = (draws() & 1) != 0 ? ~0u : static_cast<uint32_t>(draws());
      rounds = static_cast<uint32_t>(draws()) % 16;
    }
    order.clear();
    bool is_stuck = true;
    for (const bool all : {false, true}) {
      for (Thread& thread : threads) {
        if (thread.done || thread.waits != Waits::kNothing) continue;
        is_stuck = false;
        if (all || (run >> thread.rank / kWarp & 1) != 0) order.push_back(&thread);
      }
      if (!order.empty()) break;
    }
    if (is_stuck) {
      const auto waiting = std::ranges::find_if(threads, [](const Thread& thread) { return !thread.done; });
      Fault("threads wait for others that wait elsewhere, one at ", NameOf(waiting->where));
    }
    std::ranges::shuffle(order, draws);
    for (Thread* thread : order) {
      Go(*thread, body);
      if (thread->done) --left;
    }
    for (size_t first = 0; first < threads.size(); first += kWarp) {
      EndExchanges(std::span(threads).subspan(first, std::min<size_t>(kWarp, threads.size() - first)));
    }
    EndBarrier(left);
  }
}

void PrepareShared([[maybe_unused]] size_t bytes) {
#ifdef REPDL_ASAN
  ASAN_UNPOISON_MEMORY_REGION(shared_memory, sizeof shared_memory);
#endif
  std::memset(shared_memory, kUnwritten, bytes + kSharedGuard);
#ifdef REPDL_ASAN
  ASAN_POISON_MEMORY_REGION(shared_memory + bytes, sizeof shared_memory - bytes);
#endif
}

bool IsUnwritten(const unsigned char* data, size_t size) {
  return std::all_of(data, data + size, [](unsigned char byte) { return byte == kUnwritten; });
}

void CheckShared([[maybe_unused]] size_t bytes) {
#ifndef REPDL_ASAN
  if (!IsUnwritten(shared_memory + bytes, kSharedGuard)) Fault("the kernel wrote behind its shared memory");
#endif
}

/// Memory of the device that is there now, with guards around it.
class Memories {
 public:
  void* New(size_t size) {
    void* memory = nullptr;
    if (posix_memalign(&memory, 256, std::max<size_t>(size + 2 * kGuard, 1)) != 0) return nullptr;
    std::memset(memory, kUnwritten, size + 2 * kGuard);
    auto* const data = static_cast<unsigned char*>(memory) + kGuard;
    sizes_[data] = size;
    return data;
  }
  bool Free(void* data) {
    if (sizes_.erase(static_cast<unsigned char*>(data)) == 0) return false;
    std::free(static_cast<unsigned char*>(data) - kGuard);
    return true;
  }
  void Check() const {
    bool is_whole = true;
    for (const auto& [data, size] : sizes_) {
      for (unsigned char* const guard : {data - kGuard, data + size}) {
        if (IsUnwritten(guard, kGuard)) continue;
        is_whole = false;
        std::memset(guard, kUnwritten, kGuard);
      }
    }
    if (!is_whole) Fault("the kernel wrote outside of the memory that it was given");
  }

 private:
  std::map<unsigned char*, size_t> sizes_;
};

Memories memories;

}  // namespace

void SetSchedule(uint32_t seed) { schedule = seed; }
int64_t NumStops() { return num_stops; }

const ThreadNow& Now() { return running->now; }
const BlockNow& NowBlock() { return block_now; }

void NoteBarriers(Barriers* to) { barriers = to; }
void LeaveOut(const std::source_location* barrier) { left_out = barrier; }

void WaitForBlock(std::source_location where) {
  if (left_out != nullptr && IsSame(where, *left_out)) return;
  const auto is_here = [&](const std::source_location& other) { return IsSame(where, other); };
  if (barriers != nullptr && std::ranges::none_of(*barriers, is_here)) barriers->push_back(where);
  Stop(Waits::kBlock, where);
}

uint64_t Exchange(unsigned mask, uint64_t bits, int from, std::source_location where) {
  if ((mask >> running->now.lane & 1) == 0) Fault("a thread is not in the mask of its exchange, ", NameOf(where));
  running->mask = mask;
  running->shows = bits;
  running->from = from;
  running->sees = 0;
  Stop(Waits::kWarp, where);
  return running->sees;
}

unsigned Ballot(unsigned mask, bool predicate, std::source_location where) {
  Exchange(mask, predicate ? 1 : 0, -1, where);
  return running->ballot;
}

void Trap(std::source_location where) {
  Fault("thread ", running->rank, " of the block stops the kernel at ", NameOf(where));
}

void CopyAsync(void* to, const void* from, size_t size, size_t zeros) {
  const Copy copy{to, from, size, zeros};
  if (schedule % 2 == 0 && (draws() & 1) != 0) return copy.Do();
  running->copies.push_back(copy);
}
void CommitCopies() {
  running->groups.push_back(std::move(running->copies));
  running->copies.clear();
}
void WaitForCopies(size_t all_but) {
  auto& groups = running->groups;
  while (groups.size() > all_but) {
    std::ranges::for_each(groups.front(), &Copy::Do);
    groups.erase(groups.begin());
  }
}

cudaError_t AllowSharedMemory(const void* kernel, size_t bytes) {
  if (bytes > kSharedLimit) return last_error = cudaErrorInvalidValue;
  allowed_shared[kernel] = bytes;
  return cudaSuccess;
}

cudaError_t Run(const void* kernel, dim3 grid, dim3 block, size_t shared_bytes, const std::function<void()>& body) {
  const auto allowed = allowed_shared.find(kernel);
  const size_t most_shared = allowed == allowed_shared.end() ? 48 << 10 : allowed->second;
  if (grid.Count() == 0 || grid.x > 0x7fffffff || grid.y > 65535 || grid.z > 65535 || block.Count() == 0 ||
      block.Count() > 1024 || block.z > 64 || shared_bytes > most_shared) {
    return last_error = cudaErrorInvalidConfiguration;
  }
  try {
    draws.seed(schedule);
    std::vector<size_t> blocks(grid.Count());
    std::iota(blocks.begin(), blocks.end(), size_t{0});
    std::ranges::shuffle(blocks, draws);
    for (const size_t at : blocks) {
      const auto rank = static_cast<unsigned>(at);
      block_now = {dim3(rank % grid.x, rank / grid.x % grid.y, rank / grid.x / grid.y), block, grid};
      PrepareShared(shared_bytes);
      RunBlock(body);
      CheckShared(shared_bytes);
    }
    memories.Check();
  } catch (const KernelFault& fault) {
    last_fault = fault.what();
    free_fibers.clear();  // those that stopped somewhere begin anew
    for (const auto& fiber : fibers) free_fibers.push_back(fiber.get());
    return last_error = cudaErrorLaunchFailure;
  }
  return cudaSuccess;
}

}  // namespace repdl::on_host

using repdl::on_host::last_error;
using repdl::on_host::memories;

cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }
const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess: return "cudaSuccess";
    case cudaErrorInvalidConfiguration: return "cudaErrorInvalidConfiguration";
    case cudaErrorInvalidDevice: return "cudaErrorInvalidDevice";
    case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
    case cudaErrorIllegalAddress: return "cudaErrorIllegalAddress";
    case cudaErrorLaunchFailure: return "cudaErrorLaunchFailure";
    default: return "cudaErrorInvalidValue";
  }
}
const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorLaunchFailure ? repdl::on_host::last_fault.c_str() : cudaGetErrorName(error);
}

cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) { return device == 0 ? cudaSuccess : last_error = cudaErrorInvalidDevice; }
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int device) {
  // From 1 to 8: small tensors have work for all of them, or more than they do at once.
  *value = 1 + static_cast<int>(repdl::on_host::schedule * 0x9e3779b9u >> 29);
  return device == 0 ? cudaSuccess : last_error = cudaErrorInvalidDevice;
}

cudaError_t cudaMalloc(void** data, size_t size) {
  *data = memories.New(size);
  return *data != nullptr ? cudaSuccess : last_error = cudaErrorMemoryAllocation;
}
cudaError_t cudaFree(void* data) {
  return data == nullptr || memories.Free(data) ? cudaSuccess : last_error = cudaErrorInvalidValue;
}
cudaError_t cudaMallocAsync(void** data, size_t size, cudaStream_t) { return cudaMalloc(data, size); }
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode*) { return cudaSuccess; }
cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps*) {
  *pool = nullptr;
  return cudaSuccess;
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) { return cudaSuccess; }
cudaError_t cudaMallocFromPoolAsync(void** data, size_t size, cudaMemPool_t, cudaStream_t) {
  return cudaMalloc(data, size);
}
cudaError_t cudaFreeAsync(void* data, cudaStream_t) { return cudaFree(data); }
cudaError_t cudaMemcpy(void* to, const void* from, size_t size, cudaMemcpyKind) {
  if (size > 0) std::memcpy(to, from, size);
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* data, int byte, size_t size, cudaStream_t) {
  if (size > 0) std::memset(data, byte, size);
  return cudaSuccess;
}

// SPDX-License-Identifier: MIT
// Memory of a CUDA device for ops: scratch memory in the order of a stream, copies and constants.
#include <cstring>
#include <map>
#include <mutex>

#include "base/cuda_launch.h"
#include "base/device_memory.h"
#include "drivers/map_cuda_thread.h"

namespace repdl::cuda {

struct CopyArgs {
  MapArgs map;  // from operand 0 to operand 1
  void* to;
};

template <class T>
__global__ void __launch_bounds__(kThreadsPerBlock) CopyKernel(const __grid_constant__ CopyArgs args) {
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < args.map.numel; at += num_threads) {
    int64_t offsets[2];
    scalar::MapOffsets<2>(args.map, at, offsets);
    static_cast<T*>(args.to)[offsets[1]] = static_cast<const T*>(args.map.inputs[0])[offsets[0]];
  }
}

struct WriteArgs {
  static constexpr int64_t kMaxCount = 1016;  // what the parameters of a kernel have room for

  uint32_t* to;
  int64_t count;
  uint32_t words[kMaxCount];
};

__global__ void __launch_bounds__(kThreadsPerBlock) WriteKernel(const __grid_constant__ WriteArgs args) {
  for (int64_t i = threadIdx.x; i < args.count; i += blockDim.x) args.to[i] = args.words[i];
}

struct FillArgs {
  void* to;
  int64_t count;
  uint64_t bits;
};

template <class T>
__global__ void __launch_bounds__(kThreadsPerBlock) FillKernel(const __grid_constant__ FillArgs args) {
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < args.count; at += num_threads) {
    static_cast<T*>(args.to)[at] = static_cast<T>(args.bits);
  }
}

template <class From, class To>
struct ConvertArgs {
  const From* from;
  int64_t count;
  To* to;
};

template <class From, class To>
__global__ void __launch_bounds__(kThreadsPerBlock) ConvertKernel(const __grid_constant__ ConvertArgs<From, To> args) {
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < args.count; at += num_threads) {
    args.to[at] = static_cast<To>(args.from[at]);
  }
}

/// f.operator()<T>() for the unsigned T of as many bytes.
template <class F>
void DispatchBytes(int item, const F& f) {
  switch (item) {
    case 1: return f.template operator()<uint8_t>();
    case 2: return f.template operator()<uint16_t>();
    case 4: return f.template operator()<uint32_t>();
    case 8: return f.template operator()<uint64_t>();
    default: return;  // an unknown dtype, which no op takes
  }
}

/// The pool of a device that memory comes from. Some of it stays there, so that a call does not pay for fresh pages.
static cudaMemPool_t PoolOf(const Place& place) {
  constexpr uint64_t kMaxKept = uint64_t{64} << 20;
  static std::mutex mutex;
  static std::map<int, cudaMemPool_t> pools;
  const std::lock_guard lock(mutex);
  if (const auto known = pools.find(place.device.index); known != pools.end()) return known->second;
  // A stream that captures runs nothing, and refuses this meanwhile, unless it is told that no graph has to repeat it.
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  Check(place, "making a pool of memory", cudaThreadExchangeStreamCaptureMode(&mode));
  struct ModeBefore {
    cudaStreamCaptureMode* mode;
    ~ModeBefore() { cudaThreadExchangeStreamCaptureMode(mode); }
  } const before{&mode};
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = place.device.index;
  cudaMemPool_t pool = nullptr;
  Check(place, "making a pool of memory", cudaMemPoolCreate(&pool, &properties));
  uint64_t kept = kMaxKept;
  Check(place, "keeping memory in a pool", cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept));
  return pools[place.device.index] = pool;
}

static void* Get(const Place& place, int64_t size) {
  const DeviceScope scope(place);
  void* memory = nullptr;
  const auto bytes = static_cast<size_t>(std::max<int64_t>(size, 1));
  Check(place, "asking for memory",
        cudaMallocFromPoolAsync(&memory, bytes, PoolOf(place), static_cast<cudaStream_t>(place.stream)));
  return memory;
}

static void GiveBack(const Place& place, void* memory) {
  try {
    const DeviceScope scope(place);
    Check(place, "giving back memory", cudaFreeAsync(memory, static_cast<cudaStream_t>(place.stream)));
  } catch (const CudaError&) {
    // The device has failed, and its memory with it. Whoever asks it for anything next is told.
  }
}

static void Copy(const Place& place, const TensorView& from, const TensorView& to) {
  const CopyArgs args{MakeMapArgs({&from, &to}, from), to.data};
  DispatchBytes(ItemSize(from.dtype), [&]<class T>() { Launch(place, args.map.numel, &CopyKernel<T>, args); });
}

static void Fill(const Place& place, void* to, int64_t count, int item, uint64_t bits) {
  if (count == 0) return;
  DispatchBytes(item, [&]<class T>() { Launch(place, count, &FillKernel<T>, {to, count, bits}); });
}

/// By the parameters of kernels, which are copied when they are started: nothing waits, and a graph keeps them.
static void Write(const Place& place, void* to, const void* from, int64_t size) {
  constexpr int64_t kWord = sizeof(uint32_t);
  for (int64_t done = 0; done < size;) {
    WriteArgs args{
        static_cast<uint32_t*>(to) + done / kWord, std::min(WriteArgs::kMaxCount, (size - done) / kWord), {}};
    std::memcpy(args.words, static_cast<const std::byte*>(from) + done, static_cast<size_t>(args.count * kWord));
    Launch(place, Grid{1}, &WriteKernel, args);
    done += args.count * kWord;
  }
}

template <class From, class To>
static void Convert(const Place& place, const From* from, int64_t count, To* to) {
  if (count > 0) Launch(place, count, &ConvertKernel<From, To>, {from, count, to});
}

static constexpr internal::DeviceMemory kMemory{
    &Get, &GiveBack, &Copy, &Fill, &Write, &Convert<int32_t, int64_t>, &Convert<int64_t, int32_t>};
[[maybe_unused]] static const bool kIsThere = (internal::cuda_memory.store(&kMemory, std::memory_order_release), true);

}  // namespace repdl::cuda

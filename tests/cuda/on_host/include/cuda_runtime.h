// SPDX-License-Identifier: MIT
// Stands in the place of CUDA's header where kernels are compiled for the host: the words of the language, and launches.
// All shared memory is that of the launch, `extern __shared__`.
#pragma once

#include <cuda_runtime_api.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <source_location>
#include <tuple>
#include <utility>

#include "cuda/on_host/block.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __shared__
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(n) __attribute__((aligned(n)))

#define threadIdx (::repdl::on_host::Now().index)
#define blockIdx (::repdl::on_host::NowBlock().index)
#define blockDim (::repdl::on_host::NowBlock().size)
#define gridDim (::repdl::on_host::NowBlock().grid)
inline constexpr int warpSize = repdl::on_host::kWarp;

inline void __syncthreads(std::source_location where = std::source_location::current()) {
  repdl::on_host::WaitForBlock(where);
}
inline void __syncwarp(unsigned mask = ~0u, std::source_location where = std::source_location::current()) {
  repdl::on_host::Exchange(mask, 0, -1, where);
}
inline unsigned __ballot_sync(unsigned mask, int predicate,
                              std::source_location where = std::source_location::current()) {
  return repdl::on_host::Ballot(mask, predicate != 0, where);
}
inline int __all_sync(unsigned mask, int predicate, std::source_location where = std::source_location::current()) {
  return repdl::on_host::Ballot(mask, predicate == 0, where) == 0;
}
inline int __any_sync(unsigned mask, int predicate, std::source_location where = std::source_location::current()) {
  return repdl::on_host::Ballot(mask, predicate != 0, where) != 0;
}

namespace repdl::on_host {

/// `value` of the lane `from` of the segment of `width` lanes that this thread is in.
template <class T>
T Shuffle(unsigned mask, T value, int from, int width, std::source_location where) {
  static_assert(sizeof(T) <= sizeof(uint64_t));
  const int segment = Now().lane / width * width;
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  bits = Exchange(mask, bits, segment + from, where);
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace repdl::on_host

template <class T>
T __shfl_sync(unsigned mask, T value, int from, int width = 32,
              std::source_location where = std::source_location::current()) {
  return repdl::on_host::Shuffle(mask, value, from % width, width, where);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int with, int width = 32,
                  std::source_location where = std::source_location::current()) {
  const int lane = repdl::on_host::Now().lane % width, from = lane ^ with;
  return repdl::on_host::Shuffle(mask, value, from < width ? from : lane, width, where);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32,
                   std::source_location where = std::source_location::current()) {
  const int lane = repdl::on_host::Now().lane % width, from = lane + static_cast<int>(by);
  return repdl::on_host::Shuffle(mask, value, from < width ? from : lane, width, where);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = 32,
                 std::source_location where = std::source_location::current()) {
  const int lane = repdl::on_host::Now().lane % width, from = lane - static_cast<int>(by);
  return repdl::on_host::Shuffle(mask, value, from >= 0 ? from : lane, width, where);
}

template <class T>
T __ldg(const T* from) {
  return *from;
}
inline int __clz(int x) { return std::countl_zero(static_cast<unsigned>(x)); }
inline int __clzll(long long x) { return std::countl_zero(static_cast<unsigned long long>(x)); }
inline int __ffs(int x) { return x == 0 ? 0 : std::countr_zero(static_cast<unsigned>(x)) + 1; }
inline int __popc(unsigned x) { return std::popcount(x); }
inline void __threadfence() {}
[[noreturn]] inline void __trap(std::source_location where = std::source_location::current()) {
  repdl::on_host::Trap(where);
}

struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(16) double2 {
  double x, y;
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};

template <class... Params>
cudaError_t cudaFuncSetAttribute(void (*kernel)(Params...), cudaFuncAttribute, int bytes) {
  return repdl::on_host::AllowSharedMemory(reinterpret_cast<const void*>(kernel), static_cast<size_t>(bytes));
}

template <class... Params>
cudaError_t cudaLaunchKernel(void (*kernel)(Params...), dim3 grid, dim3 block, void** args, size_t shared_bytes = 0,
                             cudaStream_t = nullptr) {
  static_assert((sizeof(Params) + ... + 0) <= 4096, "no more parameters than every device takes");
  const auto call = [&]<size_t... kAt>(std::index_sequence<kAt...>) {
    // The parameters are copied: the launch may outlive those of the host.
    const std::tuple<Params...> params(*static_cast<const Params*>(args[kAt])...);
    return repdl::on_host::Run(reinterpret_cast<const void*>(kernel), grid, block, shared_bytes,
                               [&] { std::apply(kernel, params); });
  };
  return call(std::index_sequence_for<Params...>());
}

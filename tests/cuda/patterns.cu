// SPDX-License-Identifier: MIT
#include "cuda/patterns.h"

#include "base/device_tensor.h"

namespace repdl::testing {
namespace {

constexpr int kThreads = 256, kBlocks = 1024;

template <class Bits>
__global__ void Fill(Bits* to, int64_t count, Patterns patterns) {
  for (int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < count; at += int64_t{gridDim.x} * blockDim.x) {
    to[at] = patterns.Of(Bits{}, at);
  }
}

template <class Bits>
__global__ void Sum(const Bits* from, int64_t count, unsigned long long* sum) {
  uint64_t own = 0;
  for (int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < count; at += int64_t{gridDim.x} * blockDim.x) {
    own += TermOf(from[at], at);
  }
  atomicAdd(sum, static_cast<unsigned long long>(own));
}

/// f.operator()(numbers) with the numbers of a tensor as bits.
template <class F>
void WithBits(const TensorView& tensor, const F& f) {
  if (tensor.dtype == DType::kFloat64) {
    f(static_cast<uint64_t*>(tensor.data));
  } else {
    f(static_cast<uint32_t*>(tensor.data));
  }
  MustCuda(cudaGetLastError());
}

}  // namespace

void FillOnDevice(const TensorView& tensor, const Patterns& patterns) {
  WithBits(tensor, [&](auto* bits) { Fill<<<kBlocks, kThreads>>>(bits, tensor.numel(), patterns); });
}

uint64_t ChecksumOnDevice(const TensorView& tensor) {
  unsigned long long zero = 0;
  TensorView host{};
  host.data = &zero, host.dtype = DType::kInt64;
  DeviceTensor sum(host, 0);
  sum.CopyFrom(host);
  WithBits(tensor, [&](const auto* bits) {
    Sum<<<kBlocks, kThreads>>>(bits, tensor.numel(), static_cast<unsigned long long*>(sum.view().data));
  });
  sum.CopyTo(host);
  return zero;
}

}  // namespace repdl::testing

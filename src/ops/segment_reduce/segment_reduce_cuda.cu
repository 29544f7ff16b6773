// SPDX-License-Identifier: MIT
#include "drivers/contiguous.h"
#include "drivers/row_cuda.h"
#include "drivers/scan_cuda.h"
#include "ops/segment_reduce/segment_reduce_kernel.h"

namespace repdl::scalar {

#include "ops/segment_reduce/segment_reduce.row.h"

}  // namespace repdl::scalar

namespace repdl::cuda {

template <class T>
struct SegmentCall {
  SegmentArgs<T> args;
  T first;  // what the first element of a segment meets
};

/// A block for each plane adds its lengths up, those of as many segments as it has threads at a time.
template <class T>
__global__ void __launch_bounds__(kThreadsPerBlock) OffsetsKernel(const __grid_constant__ SegmentArgs<T> args) {
  int64_t* const sums = SharedMemory<int64_t>();
  const int threads = static_cast<int>(blockDim.x), thread = static_cast<int>(threadIdx.x);
  for (int64_t plane = blockIdx.x; plane < args.planes; plane += gridDim.x) {
    const int64_t* const lengths = args.lengths + plane * args.segments;
    int64_t* const offsets = args.offsets + plane * (args.segments + 1);
    if (thread == 0) offsets[0] = 0;
    int64_t before = 0;
    for (int64_t first = 0; first < args.segments; first += threads) {
      const int64_t k = first + thread;
      const int64_t length = k < args.segments ? CheckedIndex(lengths[k], args.length + 1) : 0;
      const int64_t sum = SumUpToThread(length, sums);
      if (k < args.segments) offsets[k + 1] = CheckedIndex(before + sum, args.length + 1);
      before += sums[threads - 1];
    }
  }
}

/// A result by each thread.
template <class T, class Step>
__global__ void __launch_bounds__(kThreadsPerBlock) SegmentsKernel(const __grid_constant__ SegmentCall<T> call) {
  const SegmentArgs<T>& args = call.args;
  const int64_t count = args.planes * args.segments * args.inner, num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < count; at += num_threads) {
    int64_t plane = at;
    const int64_t c = scalar::TakeRemainder(plane, args.inner), k = scalar::TakeRemainder(plane, args.segments);
    const int64_t* const offsets = args.offsets + plane * (args.segments + 1) + k;
    const T* const from = args.input + plane * args.length * args.inner + c;
    T total = call.first;
    for (int64_t i = offsets[0]; i < offsets[1]; ++i) total = Step()(total, from[i * args.inner]);
    if (args.reduction == SegmentReduction::kMean) {
      const int64_t number = offsets[1] - offsets[0];
      const T infinity = scalar::Inf(scalar::Tag<T>());
      if (number > 0) {
        total = scalar::Div(total, static_cast<T>(number));
      } else if (!args.has_initial) {
        total = scalar::Sub(infinity, infinity);
      }
    }
    args.output[at] = total;
  }
}

/// A number of all elements of a segment by each thread.
template <class T>
__global__ void __launch_bounds__(kThreadsPerBlock) SegmentGradsKernel(const __grid_constant__ SegmentArgs<T> args) {
  const int64_t count = args.planes * args.segments * args.inner, num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < count; at += num_threads) {
    int64_t plane = at;
    const int64_t c = scalar::TakeRemainder(plane, args.inner), k = scalar::TakeRemainder(plane, args.segments);
    const int64_t* const offsets = args.offsets + plane * (args.segments + 1) + k;
    const int64_t begin = plane * args.length * args.inner + c;
    const scalar::SegmentGradient<T> gradient{args, offsets[0], offsets[1]};
    gradient(args.grad_output[at], args.output[at], args.input + begin, args.grad_input + begin);
  }
}

template <class T>
static void FindOffsets(const Place& place, const SegmentArgs<T>& args) {
  const Grid grid{std::min(args.planes, kMaxBlocks), kThreadsPerBlock, kThreadsPerBlock * sizeof(int64_t)};
  Launch(place, grid, &OffsetsKernel<T>, args);
}

template <class T>
static void Run(const Place& place, const SegmentArgs<T>& args) {
  FindOffsets(place, args);
  const SegmentCall<T> call{args, args.First()};
  const int64_t count = args.planes * args.segments * args.inner;
  switch (args.reduction) {
    case SegmentReduction::kProd: return Launch(place, count, &SegmentsKernel<T, scalar::MulStep>, call);
    case SegmentReduction::kMax: return Launch(place, count, &SegmentsKernel<T, scalar::MaxStep>, call);
    case SegmentReduction::kMin: return Launch(place, count, &SegmentsKernel<T, scalar::MinStep>, call);
    default: return Launch(place, count, &SegmentsKernel<T, scalar::AddStep>, call);
  }
}

template <class T>
static void RunGrad(const Place& place, const SegmentArgs<T>& args) {
  FillWith(place, args.grad_input, args.planes * args.length * args.inner, T{0});
  const int64_t count = args.planes * args.segments * args.inner;
  if (count == 0) return;
  FindOffsets(place, args);
  Launch(place, count, &SegmentGradsKernel<T>, args);
}

REPDL_CUDA_KERNEL(SegmentReduceKernel, SegmentArgs<float>) { Run(place, args); }
REPDL_CUDA_KERNEL(SegmentReduceKernel, SegmentArgs<double>) { Run(place, args); }
REPDL_CUDA_KERNEL(SegmentReduceGradKernel, SegmentArgs<float>) { RunGrad(place, args); }
REPDL_CUDA_KERNEL(SegmentReduceGradKernel, SegmentArgs<double>) { RunGrad(place, args); }

}  // namespace repdl::cuda

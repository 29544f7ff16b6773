// SPDX-License-Identifier: MIT
#include "drivers/row_cuda.h"
#include "ops/mm/mm_kernel.h"
#include "ops/sparse_mm/sparse_mm_kernel.h"

namespace repdl::cuda {

template <class T>
struct SampledMmCall {
  SampledMmArgs<T> args;
  Chunks chunks;
};

/// The product of two rows, as the walk visits its terms.
template <class T>
class SampledVisitor {
 public:
  __device__ __forceinline__ SampledVisitor(const T* a, const T* b, T* waiting) : a_(a), b_(b), tree_{waiting, T{0}} {}

  __device__ __forceinline__ void Chain(int64_t begin, int64_t end) {
    T acc = 0;
    for (int64_t k = begin; k < end; ++k) acc = scalar::Fma(a_[k], b_[k], acc);
    tree_.value = acc;
  }
  __device__ __forceinline__ void TakeIn(int level) { tree_.TakeIn(level); }
  __device__ __forceinline__ void Park(int level) { tree_.Park(level); }
  __device__ __forceinline__ void End() {}
  __device__ __forceinline__ T value() const { return tree_.value; }

 private:
  const T *a_, *b_;
  scalar::SumTree<T> tree_;
};

/// An element by each thread.
template <class T>
__global__ void __launch_bounds__(kThreadsPerBlock) SampledKernel(const __grid_constant__ SampledMmCall<T> call) {
  const SampledMmArgs<T>& args = call.args;
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < args.count; i += num_threads) {
    T waiting[kMaxLevels];
    const int64_t row = CheckedIndex(args.rows[i], args.a_rows), column = CheckedIndex(args.columns[i], args.b_rows);
    SampledVisitor<T> visitor(args.a + row * args.k, args.b + column * args.k, waiting);
    WalkChunks(call.chunks, visitor);
    args.output[i] = visitor.value();
  }
}

template <class T>
static void Run(const Place& place, const SampledMmArgs<T>& args) {
  Launch(place, args.count, &SampledKernel<T>, {args, Chunks(args.k, ChainLength(args.order, args.k))});
}

REPDL_CUDA_KERNEL(SampledMmKernel, SampledMmArgs<float>) { Run(place, args); }
REPDL_CUDA_KERNEL(SampledMmKernel, SampledMmArgs<double>) { Run(place, args); }

}  // namespace repdl::cuda

// SPDX-License-Identifier: MIT
#include "drivers/loops_cuda_thread.h"
#include "drivers/row_cuda.h"
#include "numerics/complex_scalar.h"
#include "ops/prod/prod_kernel.h"

namespace repdl::cuda {

struct RealFactor {
  static constexpr int kParts = 1;
  double value = 1;

  template <class T>
  REPDL_ROW static RealFactor At(const T* x) {
    return {static_cast<double>(x[0])};
  }
  template <class T>
  REPDL_ROW void Put(T* to) const {
    to[0] = static_cast<T>(value);
  }
  REPDL_ROW RealFactor FromLaneBelow(int by) const { return {__shfl_down_sync(kWholeWarp, value, by)}; }
  REPDL_ROW friend RealFactor operator*(const RealFactor& a, const RealFactor& b) {
    return {scalar::Mul(a.value, b.value)};
  }
};

struct ComplexFactor {
  static constexpr int kParts = 2;
  double real = 1, imaginary = 0;

  template <class T>
  REPDL_ROW static ComplexFactor At(const T* x) {
    return {static_cast<double>(x[0]), static_cast<double>(x[1])};
  }
  template <class T>
  REPDL_ROW void Put(T* to) const {
    to[0] = static_cast<T>(real), to[1] = static_cast<T>(imaginary);
  }
  REPDL_ROW ComplexFactor FromLaneBelow(int by) const {
    return {__shfl_down_sync(kWholeWarp, real, by), __shfl_down_sync(kWholeWarp, imaginary, by)};
  }
  REPDL_ROW friend ComplexFactor operator*(const ComplexFactor& a, const ComplexFactor& b) {
    ComplexFactor product;
    scalar::ComplexMul()(scalar::Tag<double>(), a.real, a.imaginary, b.real, b.imaginary, product.real,
                         product.imaginary);
    return product;
  }
};

/// The product of a chunk by each warp. Lane t has lanes t and t + 32 of the contract; one without a number is left out.
template <class Factor, class T>
__global__ void __launch_bounds__(kThreadsPerBlock) ChunkProductsKernel(const __grid_constant__ ProdArgs<T> args) {
  constexpr int kHalf = static_cast<int>(kSumLanes) / 2;
  static_assert(kHalf == kWarpThreads);
  const Chunks chunks(args.n, kSumChunk);
  const int64_t num_warps = int64_t{gridDim.x} * (blockDim.x / kWarpThreads);
  const int64_t first_warp = int64_t{blockIdx.x} * (blockDim.x / kWarpThreads) + threadIdx.x / kWarpThreads;
  const int lane = LaneOfWarp();
  for (int64_t task = first_warp; task < args.outer * args.inner * chunks.count; task += num_warps) {
    int64_t outer = task;
    const int64_t chunk = scalar::TakeRemainder(outer, chunks.count), column = scalar::TakeRemainder(outer, args.inner);
    const int64_t begin = chunks.Begin(chunk), n = chunks.End(chunk) - begin;
    const T* const x = args.x + Factor::kParts * ((outer * args.n + begin) * args.inner + column);
    const auto at = [&](int64_t i) { return Factor::At(x + Factor::kParts * (i * args.inner)); };
    Factor low, high;
    if (lane < n) low = at(lane);
    if (lane + kHalf < n) high = at(lane + kHalf);
    for (int64_t i = lane + kSumLanes; i < n; i += kSumLanes) {
      low = low * at(i);
      if (i + kHalf < n) high = high * at(i + kHalf);
    }
    if (lane + kHalf < n) low = low * high;
    for (int h = kHalf / 2; h >= 1; h /= 2) {
      const Factor other = low.FromLaneBelow(h);
      if (lane < h && lane + h < n) low = low * other;
    }
    if (lane == 0) low.Put(args.chunks + Factor::kParts * task);
  }
}

/// The tree over the products of chunks.
template <class Factor>
class ChunkProducts {
 public:
  REPDL_ROW ChunkProducts(const double* chunks, Factor* waiting) : chunks_(chunks), waiting_(waiting) {}
  REPDL_ROW void Chain(int64_t begin, int64_t) { value_ = Factor::At(chunks_ + begin / kSumChunk * Factor::kParts); }
  REPDL_ROW void TakeIn(int level) { value_ = waiting_[level] * value_; }
  REPDL_ROW void Park(int level) { waiting_[level] = value_; }
  REPDL_ROW void End() {}
  REPDL_ROW const Factor& value() const { return value_; }

 private:
  const double* chunks_;
  Factor* waiting_;
  Factor value_;
};

/// A result by each thread.
template <class Factor, class T>
__global__ void __launch_bounds__(kThreadsPerBlock) JoinProductsOfChunks(const __grid_constant__ ProdArgs<T> args) {
  const Chunks chunks(args.n, kSumChunk);
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < args.outer * args.inner; i += num_threads) {
    Factor waiting[kMaxLevels];
    ChunkProducts<Factor> products(args.chunks + Factor::kParts * (i * chunks.count), waiting);
    WalkChunks(chunks, products);
    products.value().Put(args.output + Factor::kParts * i);
  }
}

template <class Factor, class T>
static void Run(const Place& place, const ProdArgs<T>& args) {
  const int64_t results = args.outer * args.inner, chunks = results * Chunks(args.n, kSumChunk).count;
  Launch(place, chunks * kWarpThreads, &ChunkProductsKernel<Factor, T>, args);
  Launch(place, results, &JoinProductsOfChunks<Factor, T>, args);
}

REPDL_CUDA_KERNEL(ProdKernel, ProdArgs<float>) { Run<RealFactor>(place, args); }
REPDL_CUDA_KERNEL(ProdKernel, ProdArgs<double>) { Run<RealFactor>(place, args); }
REPDL_CUDA_KERNEL(ComplexProdKernel, ProdArgs<float>) { Run<ComplexFactor>(place, args); }
REPDL_CUDA_KERNEL(ComplexProdKernel, ProdArgs<double>) { Run<ComplexFactor>(place, args); }

}  // namespace repdl::cuda

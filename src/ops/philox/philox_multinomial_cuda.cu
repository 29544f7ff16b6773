// SPDX-License-Identifier: MIT
#include "drivers/map_cuda_thread.h"
#include "drivers/scan_cuda.h"
#include "drivers/sort_cuda.h"
#include "ops/philox/philox_multinomial_kernel.h"
#include "ops/philox/philox_multinomial_keys.h"

namespace repdl::scalar {

#include "ops/philox/philox_multinomial.lane.h"

}  // namespace repdl::scalar

namespace repdl::cuda {

/// Weight number `at`, widened.
REPDL_LANE double WeightAt(const PhiloxMultinomialArgs& args, int64_t at) {
  if (args.dtype == DType::kFloat64) return static_cast<const double*>(args.weights)[at];
  return static_cast<double>(scalar::LoadNumber<float>(args.weights, args.dtype, at));
}

struct MultinomialCall {
  PhiloxMultinomialArgs args;
  int64_t* sums;  // of the integers of a row up to each, with replacement
};

/// What threads find of a row's weights.
struct WeightsFound {
  double largest;
  int64_t above;  // 0
  bool is_valid;
};

/// A row by each block: scores or sums of integers.
__global__ void __launch_bounds__(kThreadsPerBlock) PrepareRowsKernel(const __grid_constant__ MultinomialCall call) {
  const PhiloxMultinomialArgs& args = call.args;
  auto* const found = SharedMemory<WeightsFound>();
  auto* const thread_sums = reinterpret_cast<int64_t*>(found + kThreadsPerBlock);
  const scalar::Tag<double> d;
  const int thread = static_cast<int>(threadIdx.x);
  for (int64_t row = blockIdx.x; row < args.rows; row += gridDim.x) {
    WeightsFound own{0.0, 0, true};
    for (int64_t i = thread; i < args.n; i += kThreadsPerBlock) {
      const double weight = WeightAt(args, row * args.n + i);
      own.largest = scalar::Max(own.largest, weight);
      own.above += weight > 0.0 ? 1 : 0;
      own.is_valid = own.is_valid && weight >= 0.0 && weight < scalar::Inf(d);
    }
    __syncthreads();  // the row before has been read
    found[thread] = own;
    __syncthreads();
    WeightsFound all{0.0, 0, true};
    for (int other = 0; other < kThreadsPerBlock; ++other) {
      all.largest = scalar::Max(all.largest, found[other].largest);
      all.above += found[other].above;
      all.is_valid = all.is_valid && found[other].is_valid;
    }
    if (!all.is_valid || all.above < args.needed) __trap();
    int64_t before = 0;
    for (int64_t first = 0; first < args.n; first += kThreadsPerBlock) {
      const int64_t i = first + thread, at = row * args.n + i;
      const double weight = i < args.n ? WeightAt(args, at) : 0.0;
      if (args.random == nullptr) {
        if (i >= args.n) continue;
        // A weight that becomes 0 only now still goes before those that are.
        const float part = scalar::ToFloat(scalar::Tag<float>(), scalar::Div(weight, all.largest));
        args.scores[at] = weight > 0.0 ? scalar::Div(part, args.scores[at]) : -1.0f;
        continue;
      }
      const double integer = scalar::IntegerOfWeight(d, weight, all.largest, args.scale);
      const int64_t sum = SumUpToThread(static_cast<int64_t>(integer), thread_sums);
      if (i < args.n) call.sums[at] = before + sum;
      before += thread_sums[kThreadsPerBlock - 1];
    }
  }
}

/// For a random integer the first index of which the sum is above its share of the total, a sample by each thread.
__global__ void __launch_bounds__(kThreadsPerBlock) SearchKernel(const __grid_constant__ MultinomialCall call) {
  const PhiloxMultinomialArgs& args = call.args;
  const int64_t count = args.rows * args.num_samples, num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < count; at += num_threads) {
    int64_t row = at;
    scalar::TakeRemainder(row, args.num_samples);
    const int64_t* const sums = call.sums + row * args.n;
    const int64_t share = ShareOf(args.random[at], sums[args.n - 1]);
    int64_t first = 0, last = args.n;
    while (first < last) {
      const int64_t middle = first + (last - first) / 2;
      if (sums[middle] <= share) {
        first = middle + 1;
      } else {
        last = middle;
      }
    }
    args.samples[at] = first;
  }
}

/// The largest scores come first.
struct EntryOfScore {
  const float* scores;
  int64_t n;

  __device__ __forceinline__ SortEntry<uint64_t> operator()(int64_t row, int64_t i) const {
    return SortEntry<uint64_t>::Make((uint64_t{1} << 33) - RankOfScore(scores[row * n + i]), i);
  }
};

struct LargestCall {
  PhiloxMultinomialArgs args;
  const SortEntry<uint64_t>* entries;
};

__global__ void __launch_bounds__(kThreadsPerBlock) TakeLargestKernel(const __grid_constant__ LargestCall call) {
  const PhiloxMultinomialArgs& args = call.args;
  const int64_t count = args.rows * args.num_samples, num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < count; at += num_threads) {
    int64_t row = at;
    const int64_t i = scalar::TakeRemainder(row, args.num_samples);
    args.samples[at] = call.entries[row * args.n + i].Place();
  }
}

REPDL_CUDA_KERNEL(PhiloxMultinomialKernel, PhiloxMultinomialArgs) {
  OpScratch scratch(place);
  const bool replacement = args.random != nullptr;
  const MultinomialCall call{args, replacement ? scratch.Get<int64_t>(args.rows * args.n) : nullptr};
  const Grid grid{std::min(args.rows, kMaxBlocks), kThreadsPerBlock,
                  kThreadsPerBlock * (sizeof(WeightsFound) + sizeof(int64_t))};
  Launch(place, grid, &PrepareRowsKernel, call);
  const int64_t samples = args.rows * args.num_samples;
  if (replacement) return Launch(place, samples, &SearchKernel, call);
  const auto* const entries = Sorted<uint64_t>(place, args.rows, args.n, EntryOfScore{args.scores, args.n}, scratch);
  Launch(place, samples, &TakeLargestKernel, {args, entries});
}

}  // namespace repdl::cuda

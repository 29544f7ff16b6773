// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>
#include <functional>
#include <limits>

#include "base/arena.h"
#include "base/check.h"
#include "base/fp_env.h"
#include "base/op_scratch.h"
#include "base/parallel.h"
#include "drivers/contiguous.h"
#include "drivers/philox.h"
#include "ops/philox/philox_multinomial_kernel.h"
#include "ops/philox/philox_multinomial_keys.h"
#include "repdl/ops/philox.h"

namespace repdl {
namespace {

constexpr const char* kOp = "philox_multinomial";

/// Greater for what comes first: the larger score, then the lower index. Scores are not below 0, but for -1.
uint64_t KeyOf(float score, int64_t index) {
  return RankOfScore(score) << 32 | (0xffffffff - static_cast<uint64_t>(index));
}

/// The indices of the `count` largest scores.
void TakeLargest(const float* scores, int64_t n, int64_t count, uint64_t* keys, int64_t* to) {
  // The first `count` keys are a heap, whose root is the least of those that are kept.
  for (int64_t i = 0; i < count; ++i) keys[i] = KeyOf(scores[i], i);
  const std::greater<uint64_t> above;
  std::make_heap(keys, keys + count, above);
  for (int64_t i = count; i < n; ++i) {
    const uint64_t key = KeyOf(scores[i], i);
    if (key <= keys[0]) continue;
    std::pop_heap(keys, keys + count, above);
    keys[count - 1] = key;
    std::push_heap(keys, keys + count, above);
  }
  std::sort(keys, keys + count, above);
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<int64_t>(0xffffffff - (keys[i] & 0xffffffff));
}

/// For each of `count` random integers below 2^62 the first index of which the sum is above its share of the total.
void Search(const double* integers, int64_t n, const int64_t* random, int64_t count, int64_t* sums, int64_t* to) {
  int64_t total = 0;
  for (int64_t i = 0; i < n; ++i) sums[i] = total += static_cast<int64_t>(integers[i]);
  for (int64_t i = 0; i < count; ++i) {
    to[i] = std::upper_bound(sums, sums + n, ShareOf(random[i], total)) - sums;
  }
}

}  // namespace

Specs InferPhiloxMultinomial(const TensorView& weights, int64_t num_samples, bool replacement, int64_t, int64_t,
                             int64_t offset) {
  CheckFloating({kOp, "weights"}, weights);
  REPDL_CHECK(weights.rank() == 1 || weights.rank() == 2, ArgName{kOp, "weights"},
              " must have the shape (n,) or (m, n), got ", Name(weights.shape));
  REPDL_CHECK(num_samples >= 1, ArgName{kOp, "num_samples"}, " must be at least 1, got ", num_samples);
  IntList shape = weights.shape;
  const int64_t n = shape[shape.size() - 1];
  REPDL_CHECK(n < int64_t{1} << 32, ArgName{kOp, "weights"}, " must have rows of less than 2^32, got ", n);
  const int64_t rows = shape.size() == 1 ? 1 : shape[0];
  REPDL_CHECK(num_samples <= std::numeric_limits<int64_t>::max() / std::max(rows, int64_t{1}),
              ArgName{kOp, "num_samples"}, " is too large for ", rows, " rows, got ", num_samples);
  shape[shape.size() - 1] = num_samples;
  const Specs specs = {{DType::kInt64, shape}};
  CheckPhiloxOffset(kOp, offset, replacement ? rows * num_samples : weights.numel());
  return specs;
}

void PhiloxMultinomial(const TensorView& weights, int64_t num_samples, bool replacement, int64_t seed, int64_t call,
                       int64_t offset, Out output) {
  const FpEnvGuard guard;
  CheckOutputs(kOp, InferPhiloxMultinomial(weights, num_samples, replacement, seed, call, offset), {&output}, weights);
  const Place place = PlaceOf(kOp, weights);
  if (output.numel() == 0) return;
  const int64_t n = weights.shape[weights.rank() - 1], rows = output.numel() / num_samples;
  const int64_t needed = replacement ? 1 : num_samples;
  REPDL_CHECK(n >= needed, ArgName{kOp, "weights"}, " must have at least ", needed, " weights above 0 in each row");
  OpScratch scratch(place);
  const TensorView numbers =
      replacement ? scratch.New(DType::kInt64, {rows * num_samples}) : scratch.New(DType::kFloat32, {rows * n});
  if (replacement) {
    PhiloxRandint(numbers, seed, call, 0, (int64_t{1} << 62) - 1, offset);
  } else {
    PhiloxExponential(numbers, seed, call, 1.0, offset);
  }
  const int bits = 62 - std::bit_width(static_cast<uint64_t>(n));
  const PhiloxMultinomialArgs args = {.rows = rows,
                                      .n = n,
                                      .weights = Contiguous(weights, scratch).data,
                                      .dtype = weights.dtype,
                                      .scores = replacement ? nullptr : numbers.Data<float>(),
                                      .integers = scratch.Get<double>(rows * n),
                                      .scale = replacement ? static_cast<double>(int64_t{1} << bits) : 0.0,
                                      .present = scratch.Get<int64_t>(rows),
                                      .needed = needed,
                                      .num_samples = num_samples,
                                      .random = replacement ? numbers.Data<const int64_t>() : nullptr,
                                      .samples = output.Data<int64_t>()};
  PhiloxMultinomialKernel(place, args);
  if (!place.IsCpu()) return;  // there the kernel has drawn them
  for (int64_t row = 0; row < rows; ++row) {
    REPDL_CHECK(args.present[row] >= 0, ArgName{kOp, "weights"}, " holds a weight that is negative, infinite or NaN");
    REPDL_CHECK(args.present[row] >= needed, ArgName{kOp, "weights"}, " must have at least ", needed,
                " weights above 0 in each row");
  }
  ParallelRanges(rows, 8192 / n + 1, [&](int64_t begin, int64_t end) {
    Scratch of_thread;
    auto* const room = of_thread.Get<int64_t>(n);
    for (int64_t row = begin; row < end; ++row) {
      int64_t* const to = output.Data<int64_t>() + row * num_samples;
      if (replacement) {
        Search(args.integers + row * n, n, numbers.Data<const int64_t>() + row * num_samples, num_samples, room, to);
      } else {
        TakeLargest(args.scores + row * n, n, num_samples, reinterpret_cast<uint64_t*>(room), to);
      }
    }
  });
}

}  // namespace repdl

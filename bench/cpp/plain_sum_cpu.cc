// SPDX-License-Identifier: MIT
#include <algorithm>

#include "drivers/vector_cpu-inl.h"
#include "plain_sum.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

/// Eight accumulators hide the latency of an addition.
void PlainSumRows(const PlainSumArgs& args) {
  constexpr int kAccs = 8;
  const FloatTag d;
  for (int64_t i = 0; i < args.rows; ++i) {
    const float* const row = args.x + i * args.cols;
    Vec acc[kAccs];
    for (Vec& a : acc) a = Zero(d);
    int64_t j = 0;
    for (; j + kAccs * kLanes <= args.cols; j += kAccs * kLanes) {
#pragma GCC unroll 8
      for (int v = 0; v < kAccs; ++v) acc[v] = Add(acc[v], LoadU(d, row + j + v * kLanes));
    }
    for (int v = 1; v < kAccs; ++v) acc[0] = Add(acc[0], acc[v]);
    HWY_ALIGN float lanes[kLanes];
    Store(acc[0], d, lanes);
    float sum = 0.0f;
    for (float lane : lanes) sum += lane;
    for (; j < args.cols; ++j) sum += row[j];
    args.out[i] = sum;
  }
}

/// Eight rows at a time go through the sums, which stay in the L1 cache.
void PlainSumColumns(const PlainSumArgs& args) {
  constexpr int kRows = 8;
  std::fill_n(args.out, args.cols, 0.0f);
  int64_t i = 0;
  for (; i + kRows <= args.rows; i += kRows) {
    const float* const x = args.x + i * args.cols;
    ForVectors(args.cols, [&](int64_t j, int64_t count) HWY_ATTR {
      Vec acc = LoadN(args.out + j, count);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) acc = Add(acc, LoadN(x + r * args.cols + j, count));
      StoreN(acc, args.out + j, count);
    });
  }
  for (; i < args.rows; ++i) {
    for (int64_t j = 0; j < args.cols; ++j) args.out[j] += args.x[i * args.cols + j];
  }
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

// SPDX-License-Identifier: MIT
// Batches of products so small that a vector would be mostly empty: a lane for each product.
#pragma once

#include "base/parallel.h"
#include "drivers/lanes_of_matrices_cpu-inl.h"
#include "numerics/order.h"
#include "ops/mm/mm_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

/// Numbers of both operands and the result of such a product: those of 4 x 4 matrices.
inline constexpr int64_t kMaxLaneNumbers = 48;

/// Whether the products of a batch are as small and as many, and each element is one chain.
template <class T>
bool AreLaneProducts(const MmArgs& args, const Chunks& chunks) {
  return kLanesOf<T> > 1 && 2 * args.batch > kLanesOf<T> && args.k > 0 && chunks.count == 1 &&
         args.m <= kMaxLaneNumbers && args.n <= kMaxLaneNumbers && args.k <= kMaxLaneNumbers &&
         args.m * args.k + args.k * args.n + args.m * args.n <= kMaxLaneNumbers;
}

template <class T>
void RunLaneProducts(const MmArgs& args, const T* bias) {
  constexpr int64_t kLanes = kLanesOf<T>;
  const int64_t m = args.m, n = args.n, k = args.k;
  const T *const first_a = static_cast<const T*>(args.a), *const first_b = static_cast<const T*>(args.b);
  T* const first_c = static_cast<T*>(args.c);
  const MatrixPlaces places_of_a(m, k, args.a_row_stride, args.a_col_stride);
  const MatrixPlaces places_of_b(k, n, args.b_row_stride, args.b_col_stride);
  ParallelRanges((args.batch + kLanes - 1) / kLanes, 4096 / (m * n * k + 32) + 1,
                 [&](int64_t begin, int64_t end) HWY_ATTR {
                   const TagOf<T> d;
                   HWY_ALIGN T numbers[kMaxLaneNumbers * kLanes];
                   T *const a = numbers, *const b = a + m * k * kLanes, *const c = b + k * n * kLanes;
                   for (int64_t group = begin; group < end; ++group) {
                     const int64_t first = group * kLanes, count = std::min(kLanes, args.batch - first);
                     const auto matrix_of = [&](const T* data, const Loops& loops) {
                       return [=, &loops](int64_t matrix) { return data + loops.Offset(first + matrix); };
                     };
                     places_of_a.Load(count, matrix_of(first_a, args.a_batch), a);
                     places_of_b.Load(count, matrix_of(first_b, args.b_batch), b);
                     for (int64_t i = 0; i < m; ++i) {
                       for (int64_t j = 0; j < n; ++j) {
                         VecOf<T> sum = Zero(d);
                         for (int64_t q = 0; q < k; ++q) {
                           sum = Fma(Load(d, a + (i * k + q) * kLanes), Load(d, b + (q * n + j) * kLanes), sum);
                         }
                         Store(bias == nullptr ? sum : Add(sum, Set(d, bias[j])), d, c + (i * n + j) * kLanes);
                       }
                     }
                     StoreMatrices(c, m * n, count, first_c + first * m * n);
                   }
                 });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

// SPDX-License-Identifier: MIT
#include "base/parallel.h"
#include "drivers/vector_cpu-inl.h"
#include "ops/cross/cross_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

#include "ops/cross/cross.lane.h"

constexpr int64_t kGrain = 8192;

/// Vectors whose numbers lie side by side.
template <class T>
void CrossOfTriples(const T* a, const T* b, T* c, int64_t n) {
  const TagOf<T> d;
  HWY_ALIGN T rest[3][3 * kLanesOf<T>] = {};
  ForVectors<T>(n, [&](int64_t i, int64_t count) HWY_ATTR {
    const T *x = a + 3 * i, *y = b + 3 * i;
    T* z = c + 3 * i;
    const bool is_whole = count == kLanesOf<T>;
    if (!is_whole) {
      std::copy_n(x, 3 * count, rest[0]);
      std::copy_n(y, 3 * count, rest[1]);
      x = rest[0], y = rest[1], z = rest[2];
    }
    VecOf<T> a0, a1, a2, b0, b1, b2, c0, c1, c2;
    hn::LoadInterleaved3(d, x, a0, a1, a2);
    hn::LoadInterleaved3(d, y, b0, b1, b2);
    CrossOf(a0, a1, a2, b0, b1, b2, c0, c1, c2);
    hn::StoreInterleaved3(c0, c1, c2, d, z);
    if (!is_whole) std::copy_n(rest[2], 3 * count, c + 3 * i);
  });
}

/// Numbers [begin, end) of the rows of one matrix of three.
template <class T>
void CrossOfRows(const T* a, const T* b, T* c, int64_t inner, int64_t begin, int64_t end) {
  ForVectors<T>(end - begin, [&](int64_t from, int64_t count) HWY_ATTR {
    const int64_t first = begin + from, second = first + inner, third = second + inner;
    VecOf<T> c0, c1, c2;
    CrossOf(LoadN(a + first, count), LoadN(a + second, count), LoadN(a + third, count), LoadN(b + first, count),
            LoadN(b + second, count), LoadN(b + third, count), c0, c1, c2);
    StoreN<T>(c0, c + first, count);
    StoreN<T>(c1, c + second, count);
    StoreN<T>(c2, c + third, count);
  });
}

template <class T>
void Run(const CrossArgs<T>& args) {
  ParallelRanges(args.outer * args.inner, kGrain, [&](int64_t begin, int64_t end) {
    if (args.inner == 1) {
      return CrossOfTriples(args.a + 3 * begin, args.b + 3 * begin, args.output + 3 * begin, end - begin);
    }
    for (int64_t at = begin; at < end;) {
      const int64_t column = at % args.inner, n = std::min(end - at, args.inner - column);
      const int64_t start = at / args.inner * 3 * args.inner;
      CrossOfRows(args.a + start, args.b + start, args.output + start, args.inner, column, column + n);
      at += n;
    }
  });
}

}  // namespace

void CrossKernel(const CrossArgs<float>& args) { Run(args); }
void CrossKernel(const CrossArgs<double>& args) { Run(args); }

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

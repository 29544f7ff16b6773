// SPDX-License-Identifier: MIT
#include "base/parallel.h"
#include "drivers/vector_cpu-inl.h"
#include "ops/mm/complex_mm_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

constexpr int64_t kGrain = 8192;  // pairs worth a fork

template <class T>
void SplitLine(const SplitPairsArgs<T>& args, const T* from, T* real, T* imaginary) {
  const TagOf<T> d;
  int64_t i = 0;
  if (args.step == 2 && args.part_step == 1) {
    for (; i + kLanesOf<T> <= args.length; i += kLanesOf<T>) {
      VecOf<T> a, b;
      hn::LoadInterleaved2(d, from + 2 * i, a, b);
      StoreU(a, d, real + i);
      StoreU(args.conjugate ? Neg(b) : b, d, imaginary + i);
    }
  }
  for (; i < args.length; ++i) {
    const T b = from[i * args.step + args.part_step];
    real[i] = from[i * args.step];
    imaginary[i] = args.conjugate ? -b : b;
  }
}

template <class T>
void SplitPairs(const SplitPairsArgs<T>& args) {
  const int64_t grain = kGrain / std::max<int64_t>(args.length, 1) + 1;
  ParallelRanges(args.lines.Count(), grain, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t line = begin; line < end; ++line) {
      const int64_t at = line / args.lines_each * args.matrix_step + line % args.lines_each * args.line_step;
      SplitLine(args, args.pairs + args.lines.Offset(line), args.real + at, args.imaginary + at);
    }
  });
}

template <class T>
void JoinProducts(const JoinProductsArgs<T>& args) {
  const TagOf<T> d;
  const int64_t grain = kGrain / args.columns + 1;
  ParallelRanges(args.matrices * args.rows, grain, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t line = begin; line < end; ++line) {
      const int64_t matrix = line / args.rows, row = line % args.rows;
      const T* const ac = args.products + (matrix * 2 * args.rows + row) * 2 * args.columns;
      const T* const ad = ac + args.columns;
      const T* const bc = ac + args.rows * 2 * args.columns;
      const T* const bd = bc + args.columns;
      T* const to = args.pairs + matrix * args.matrix_step + row * args.row_step;
      ForVectors<T>(args.columns, [&](int64_t i, int64_t count) HWY_ATTR {
        const auto real = Sub(LoadN(ac + i, count), LoadN(bd + i, count));
        const auto imaginary = Add(LoadN(ad + i, count), LoadN(bc + i, count));
        if (count == kLanesOf<T>) {
          hn::StoreInterleaved2(real, imaginary, d, to + 2 * i);
        } else {
          T rest[2 * kLanesOf<T>];
          hn::StoreInterleaved2(real, imaginary, d, rest);
          std::copy_n(rest, 2 * count, to + 2 * i);
        }
      });
    }
  });
}

void SplitPairsKernel(const SplitPairsArgs<float>& args) { SplitPairs(args); }
void SplitPairsKernel(const SplitPairsArgs<double>& args) { SplitPairs(args); }
void JoinProductsKernel(const JoinProductsArgs<float>& args) { JoinProducts(args); }
void JoinProductsKernel(const JoinProductsArgs<double>& args) { JoinProducts(args); }

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

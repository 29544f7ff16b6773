// SPDX-License-Identifier: MIT
#include "base/parallel.h"
#include "drivers/vector_cpu-inl.h"
#include "ops/fold/fold_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

/// Additions that are worth a fork.
constexpr int64_t kGrain = 32768;

template <class T>
HWY_INLINE void AddLine(const T* x, int64_t n, T* sums) {
  ForVectors<T>(n, [&](int64_t i, int64_t count)
                       HWY_ATTR { StoreN<T>(Add(LoadN(sums + i, count), LoadN(x + i, count)), sums + i, count); });
}

template <class T>
HWY_INLINE void AddRun(const FoldRun& run, int64_t inner, const T* row, T* sums) {
  const T* const from = row + run.from * inner;
  T* const to = sums + run.to * inner;
  if (run.step == 1) {
    AddLine(from, run.count * inner, to);
  } else if (inner == 1) {
    for (int64_t i = 0; i < run.count; ++i) to[i * run.step] = to[i * run.step] + from[i];
  } else {
    for (int64_t i = 0; i < run.count; ++i) AddLine(from + i * inner, inner, to + i * run.step * inner);
  }
}

template <class T>
void Fold(const FoldArgs<T>& args) {
  const int64_t in_row = args.in_width * args.inner, out_row = args.out_width * args.inner;
  const int64_t added = args.starts[args.out_rows] / args.out_rows * out_row + out_row;
  ParallelRanges(args.planes * args.out_rows, kGrain / added + 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t i = begin; i < end; ++i) {
      const T* const plane = args.input + i / args.out_rows * args.in_rows * in_row;
      const int64_t row = i % args.out_rows;
      T* const sums = args.output + i * out_row;
      std::fill(sums, sums + out_row, T{0});
      for (int64_t t = args.starts[row]; t < args.starts[row + 1]; ++t) {
        const FoldTerm& term = args.terms[t];
        for (int64_t r = term.first_run; r < term.end_run; ++r) {
          AddRun(args.runs[r], args.inner, plane + term.row * in_row, sums);
        }
      }
    }
  });
}

}  // namespace

void FoldKernel(const FoldArgs<float>& args) { Fold(args); }
void FoldKernel(const FoldArgs<double>& args) { Fold(args); }

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

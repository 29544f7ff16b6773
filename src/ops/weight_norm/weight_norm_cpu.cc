// SPDX-License-Identifier: MIT
#include "drivers/long_sum_cpu-inl.h"
#include "drivers/reduce_cpu-inl.h"
#include "ops/weight_norm/weight_norm_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

#include "ops/weight_norm/weight_norm.row.h"

namespace {

/// The steps of the forward pass: a term of a row's sum, what rows have of their sums, and the numbers of the result.
/// `at` is a place in memory. They go by value: through a reference their pointers would be read again for each vector.
template <class T>
struct Scaling {
  const T* v;
  const T* g;
  T* output;
  T* of_rows;

  explicit Scaling(const WeightNormArgs<T>& args) : v(args.v), g(args.g), output(args.output), of_rows(args.of_rows) {}

  HWY_INLINE VecOf<T> Term(int64_t at, int64_t count) const {
    const VecOf<T> x = LoadN(v + at, count);
    return Mul(x, x);
  }
  HWY_INLINE void EndRows(int64_t row, int64_t count, VecOf<T> sum, T* factors, T*) const {
    const VecOf<T> norm = Sqrt(sum);
    StoreN(norm, of_rows + row, count);
    StoreN(Div(LoadN(g + row, count), norm), factors, count);
  }
  HWY_INLINE void Put(int64_t at, int64_t count, VecOf<T> factor, VecOf<T>) const {
    StoreN(Mul(LoadN(v + at, count), factor), output + at, count);
  }
};

/// Those of the gradient.
template <class T>
struct Gradient : Scaling<T> {
  using Scaling<T>::v, Scaling<T>::g, Scaling<T>::output, Scaling<T>::of_rows;

  const T* grad_output;
  const T* norms;

  explicit Gradient(const WeightNormArgs<T>& args)
      : Scaling<T>(args), grad_output(args.grad_output), norms(args.norm) {}

  HWY_INLINE VecOf<T> Term(int64_t at, int64_t count) const {
    return Mul(LoadN(grad_output + at, count), LoadN(v + at, count));
  }
  HWY_INLINE void EndRows(int64_t row, int64_t count, VecOf<T> sum, T* factors, T* shares) const {
    const VecOf<T> norm = LoadN(norms + row, count);
    StoreN(Div(sum, norm), of_rows + row, count);
    StoreN(Div(LoadN(g + row, count), norm), factors, count);
    StoreN(ShareOfNorm(sum, norm), shares, count);
  }
  HWY_INLINE void Put(int64_t at, int64_t count, VecOf<T> factor, VecOf<T> share) const {
    const VecOf<T> u = LoadN(grad_output + at, count), x = LoadN(v + at, count);
    StoreN(GradOfWeight(u, x, factor, share), output + at, count);
  }
};

/// A term of the sum of a row that begins at a place in memory.
template <class Steps>
HWY_INLINE auto TermsFrom(Steps steps, int64_t first) {
  return [steps, first](int64_t i, int64_t count) HWY_ATTR { return steps.Term(first + i, count); };
}

/// The numbers of the result at n places.
template <class T, class Steps>
HWY_INLINE void PutPlaces(Steps steps, int64_t first, int64_t n, T factor, T share) {
  const TagOf<T> d;
  const VecOf<T> by = Set(d, factor), less = Set(d, share);
  ForVectors<T>(n, [&](int64_t i, int64_t count) HWY_ATTR { steps.Put(first + i, count, by, less); });
}

/// A row on all threads.
template <class T, class Steps>
void RunLongRow(const WeightNormArgs<T>& args, Steps steps, int64_t row) {
  const int64_t first = row * args.n;
  const T sum = SumOnThreads<T>(args.n, args.order, TermsFrom(steps, first));
  T factor = 0, share = 0;
  steps.EndRows(row, 1, Set(TagOf<T>(), sum), &factor, &share);
  ParallelRanges(args.n, 8192, [&](int64_t begin, int64_t end) HWY_ATTR {
    PutPlaces(steps, first + begin, end - begin, factor, share);
  });
}

/// Rows on one thread: as many at a time as stay in the L1 cache, so that their roots and quotients are vectors.
template <class T, class Steps>
void RunRows(const WeightNormArgs<T>& args, Steps steps, int64_t begin, int64_t end) {
  const int64_t at_once = std::clamp(2048 / std::max<int64_t>(args.n, 1), int64_t{1}, kLanesOf<T>);
  T sums[kLanesOf<T>], factors[kLanesOf<T>], shares[kLanesOf<T>] = {};
  for (int64_t row = begin; row < end; row += at_once) {
    const int64_t count = std::min(at_once, end - row), first = row * args.n;
    for (int64_t r = 0; r < count; ++r) {
      sums[r] = SumOf<T>(args.n, args.order, TermsFrom(steps, first + r * args.n));
    }
    steps.EndRows(row, count, LoadN(sums, count), factors, shares);
    for (int64_t r = 0; r < count; ++r) PutPlaces(steps, first + r * args.n, args.n, factors[r], shares[r]);
  }
}

/// Rows that lie across memory, at most kMaxStrip of them.
template <class T, class Steps>
void RunStrip(const WeightNormArgs<T>& args, Steps steps, int64_t begin, int64_t end) {
  const int64_t width = end - begin;
  HWY_ALIGN T sums[kMaxStrip], factors[kMaxStrip], shares[kMaxStrip] = {};
  if (args.order == Order::kBlocked) {
    const auto terms_at = [&](int64_t i) HWY_ATTR { return TermsFrom(steps, i * args.rows + begin); };
    SumColumnsOf<T>(args.n, width, terms_at, sums);
  } else {
    std::fill_n(sums, width, T{0});
    for (int64_t i = 0, first = begin; i < args.n; ++i, first += args.rows) {
      ForVectors<T>(width, [&](int64_t j, int64_t count) HWY_ATTR {
        StoreN(Add(LoadN(sums + j, count), steps.Term(first + j, count)), sums + j, count);
      });
    }
  }
  ForVectors<T>(width, [&](int64_t j, int64_t count) HWY_ATTR {
    steps.EndRows(begin + j, count, LoadN(sums + j, count), factors + j, shares + j);
  });
  for (int64_t i = 0, first = begin; i < args.n; ++i, first += args.rows) {
    ForVectors<T>(width, [&](int64_t j, int64_t count) HWY_ATTR {
      steps.Put(first + j, count, LoadN(factors + j, count), LoadN(shares + j, count));
    });
  }
}

template <class T, class Steps>
void Run(const WeightNormArgs<T>& args, const Steps& steps) {
  const int64_t terms = std::max<int64_t>(args.n, 1);
  if (args.across) {
    // Strips as wide as leaves each thread one.
    const int64_t share = args.rows / GetNumThreads();
    const int64_t strip = std::clamp((share + 63) / 64 * 64, int64_t{64}, kMaxStrip);
    const int64_t strips = (args.rows + strip - 1) / strip;
    return ParallelRanges(strips, 16384 / (terms * strip) + 1, [&](int64_t begin, int64_t end) HWY_ATTR {
      for (int64_t s = begin; s < end; ++s) RunStrip(args, steps, s * strip, std::min((s + 1) * strip, args.rows));
    });
  }
  if (args.rows < GetNumThreads()) {
    for (int64_t row = 0; row < args.rows; ++row) RunLongRow(args, steps, row);
    return;
  }
  ParallelRanges(args.rows, 8192 / terms + 1,
                 [&](int64_t begin, int64_t end) HWY_ATTR { RunRows(args, steps, begin, end); });
}

}  // namespace

void WeightNormKernel(const WeightNormArgs<float>& args) { Run(args, Scaling<float>(args)); }
void WeightNormKernel(const WeightNormArgs<double>& args) { Run(args, Scaling<double>(args)); }
void WeightNormGradKernel(const WeightNormArgs<float>& args) { Run(args, Gradient<float>(args)); }
void WeightNormGradKernel(const WeightNormArgs<double>& args) { Run(args, Gradient<double>(args)); }

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

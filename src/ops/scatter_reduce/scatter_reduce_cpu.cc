// SPDX-License-Identifier: MIT
#include <algorithm>
#include <limits>

#include "drivers/index_terms_cpu-inl.h"
#include "numerics/functions_highway-inl.h"
#include "ops/scatter_reduce/scatter_reduce_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

#include "ops/scatter_reduce/scatter_reduce.row.h"

template <class T, class Step>
void Take(const RowTerms<T>& terms, const Step& step) {
  TermsOfRows(terms, step).Run();
}
template <class T, class Step>
void Take(const NumberTerms<T>& terms, const Step& step) {
  TakeTermsOfNumbers(terms, step);
}

/// Divides each number of the output by how many terms have met it, and one more with `include_self`.
template <class T>
void DivideByCounts(const RowTerms<T>& terms, bool include_self) {
  Scratch scratch;
  int64_t* const counts = scratch.Get<int64_t>(terms.rows);
  std::fill(counts, counts + terms.rows, int64_t{include_self});
  for (int64_t t = 0; t < terms.terms; ++t) ++counts[terms.to[t]];
  ParallelRanges(terms.outer * terms.rows, kGrainOfTerms / terms.width + 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t count = counts[row % terms.rows];
      if (count < 2) continue;
      T* const at = terms.output + row * terms.width;
      ForVectors<T>(terms.width, [&](int64_t c, int64_t n) HWY_ATTR {
        StoreN<T>(Div(LoadN(at + c, n), Set(TagOf<T>(), static_cast<T>(count))), at + c, n);
      });
    }
  });
}
template <class T>
void DivideByCounts(const NumberTerms<T>& terms, bool include_self) {
  const int64_t numbers = terms.outer * terms.rows * terms.inner;
  Scratch scratch;
  int64_t* const counts = scratch.Get<int64_t>(numbers);
  std::fill(counts, counts + numbers, int64_t{include_self});
  ForTermsOfNumbers(terms, [counts](int64_t to, int64_t) { ++counts[to]; });
  ParallelRanges(numbers, kGrainOfTerms, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (counts[i] > 1) terms.output[i] = terms.output[i] / static_cast<T>(counts[i]);
    }
  });
}

template <class T, class Terms>
void Reduce(const ReductionArgs<Terms>& args) {
  WithReduction<T>(args.reduce, [&]<class How>(const How& how) {
    if (!args.include_self) {
      Take(args.terms, [](auto, auto x, int64_t) HWY_ATTR { return Set(TagFor(x), How::kFirst); });
    }
    Take(args.terms, [&how](auto result, auto x, int64_t) HWY_ATTR { return how(result, x); });
  });
  if (args.reduce == IndexReduction::kMean) DivideByCounts(args.terms, args.include_self);
}

}  // namespace

void IndexReduceKernel(const IndexReduceArgs<float>& args) { Reduce<float>(args); }
void IndexReduceKernel(const IndexReduceArgs<double>& args) { Reduce<double>(args); }
void ScatterReduceKernel(const ScatterReduceArgs<float>& args) { Reduce<float>(args); }
void ScatterReduceKernel(const ScatterReduceArgs<double>& args) { Reduce<double>(args); }

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

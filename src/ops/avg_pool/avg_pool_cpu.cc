// SPDX-License-Identifier: MIT
#include "base/parallel.h"
#include "drivers/weighted_sum_cpu-inl.h"
#include "ops/avg_pool/avg_pool_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

/// Additions that are worth a fork.
constexpr int64_t kGrain = 32768;

template <class T>
class AveragePool {
 public:
  AveragePool(const AvgPoolArgs<T>& args, Scratch& scratch)
      : args_(args),
        windows_((args.gradient ? args.columns.size : args.columns.count) * args.inner),
        along_columns_(args.columns, args.inner, scratch),
        column_counts_(scratch.Get<T>(windows_)) {
    for (int64_t i = 0; i < windows_; ++i)
      column_counts_[i] = args.divisor == 0 ? args.column_counts[i / args.inner] : 0;
  }

  void Run() const {
    const T* input = args_.input;
    if (args_.gradient) {
      ParallelRanges(args_.planes * args_.rows.size, kGrain / std::max<int64_t>(windows_, 1) + 1,
                     [&](int64_t begin, int64_t end) HWY_ATTR {
                       for (int64_t i = begin; i < end; ++i) {
                         DivideRow(i % args_.rows.size, args_.input + i * windows_, args_.quotients + i * windows_);
                       }
                     });
      input = args_.quotients;
    }
    const int64_t in_length = args_.columns.size * args_.inner, out_length = args_.columns.count * args_.inner;
    const auto terms = [](const WeightedSums<T>& sums) { return sums.starts[sums.count] / sums.count + 1; };
    const int64_t additions = out_length * terms(args_.rows) * terms(args_.columns);
    ParallelRanges(args_.planes * args_.rows.count, kGrain / additions + 1, [&](int64_t begin, int64_t end) HWY_ATTR {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t row = i % args_.rows.count, first = args_.rows.starts[row];
        const T* const plane = input + i / args_.rows.count * args_.rows.size * in_length;
        const int32_t* const rows = args_.rows.indices + first;
        T* const out = args_.output + i * out_length;
        along_columns_.SumWindows([&](int64_t r) { return plane + rows[r] * in_length; },
                                  args_.rows.starts[row + 1] - first, out);
        if (!args_.gradient) DivideRow(row, out, out);
      }
    });
  }

 private:
  /// A row of windows by the numbers that they count.
  HWY_INLINE void DivideRow(int64_t row, const T* from, T* to) const {
    const TagOf<T> d;
    ForVectors<T>(windows_, [&](int64_t i, int64_t count) HWY_ATTR {
      VecOf<T> divisor = Set(d, args_.divisor);
      if (args_.divisor == 0) divisor = Mul(Set(d, args_.row_counts[row]), LoadN(column_counts_ + i, count, 1));
      StoreN<T>(Div(LoadN(from + i, count), divisor), to + i, count);
    });
  }

  const AvgPoolArgs<T>& args_;
  int64_t windows_;  // numbers of a row of windows
  SumsAlong<T> along_columns_;
  T* column_counts_;
};

}  // namespace

void AvgPoolKernel(const AvgPoolArgs<float>& args) {
  Scratch scratch;
  AveragePool<float>(args, scratch).Run();
}
void AvgPoolKernel(const AvgPoolArgs<double>& args) {
  Scratch scratch;
  AveragePool<double>(args, scratch).Run();
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

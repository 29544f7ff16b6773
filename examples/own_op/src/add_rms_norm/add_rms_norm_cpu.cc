// SPDX-License-Identifier: MIT
// Compiled once for each CPU target. The arithmetic is lane words (Add, Mul, Sqrt, …) and words of a row (Each, Sum), and
// nothing else: then every target has the same bits.
#include "add_rms_norm/add_rms_norm_kernel.h"
#include "base/parallel.h"
#include "drivers/row_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

constexpr int64_t kGrain = 8192;  // elements worth a fork of the threads

template <class T>
void AddAndNormalizeRow(const AddRmsNormArgs<T>& args, int64_t index) {
  const int64_t at = index * args.n;
  const Row<T> row{args.n, args.order};
  const TagOf<T> d;
  const RowNumbers<const T> input{args.input + at}, residual{args.residual + at}, weight{args.weight};
  const RowNumbers<T> sum{args.sum + at}, output{args.output + at};

  row.Each([&](auto i) REPDL_ROW_LAMBDA { sum.Put(i, Add(input(i), residual(i))); });
  const T squares = row.Sum([&](auto i) REPDL_ROW_LAMBDA { return Mul(sum(i), sum(i)); });  // in the order of the row
  const T r = static_cast<T>(1.0 / static_cast<double>(args.n));
  const auto rstd = Div(Set(d, T{1}), Sqrt(Set(d, squares * r + args.eps)));
  row.Each([&](auto i) REPDL_ROW_LAMBDA { output.Put(i, Mul(Mul(sum(i), rstd), weight(i))); });
  args.rstd[index] = row.OneOf(rstd);
}

template <class T>
void AddAndNormalize(const AddRmsNormArgs<T>& args) {
  ParallelRanges(args.rows, kGrain / args.n + 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t index = begin; index < end; ++index) AddAndNormalizeRow(args, index);
  });
}

}  // namespace

void AddRmsNormKernel(const AddRmsNormArgs<float>& args) { AddAndNormalize(args); }
void AddRmsNormKernel(const AddRmsNormArgs<double>& args) { AddAndNormalize(args); }

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

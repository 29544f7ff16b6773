// SPDX-License-Identifier: MIT
#include "base/op_scratch.h"
#include "drivers/row_cuda.h"
#include "ops/margin_loss/margin_loss_kernel.h"

namespace repdl::scalar {

#include "ops/margin_loss/margin_loss.row.h"

}  // namespace repdl::scalar

namespace repdl::cuda {

template <class T>
struct MarginRows {
  MarginLossArgs<T> args;
  T* terms;  // as many as scores: of a loss memory, of a gradient the result
  T classes;
};

template <class Row, class T>
REPDL_ROW auto MultiMarginOf(const Row& row, int64_t r, const MarginRows<T>& rows) {
  const MarginLossArgs<T>& args = rows.args;
  const int64_t t = CheckedIndex(args.target[r], row.n);
  return scalar::MultiMarginRow<Row, scalar::RowNumbers<const T>, scalar::RowNumbers<T>, int64_t>{
      row,
      {args.input + r * row.n},
      {rows.terms + r * row.n},
      t,
      args.margin,
      args.weight == nullptr ? T{1} : args.weight[t],
      args.is_squared,
      args.weight != nullptr};
}

struct MultiMarginLoss {
  template <class Row, class T>
  REPDL_ROW void operator()(const Row& row, int64_t r, const MarginRows<T>& rows) const {
    const T loss = MultiMarginOf(row, r, rows).Loss(rows.classes);
    if (row.IsFirst()) rows.args.losses[r] = loss;
  }
};

struct MultiMarginSlope {
  template <class Row, class T>
  REPDL_ROW void operator()(const Row& row, int64_t r, const MarginRows<T>& rows) const {
    MultiMarginOf(row, r, rows).Gradient(rows.classes, scalar::Mul(rows.args.part, rows.args.grad_output[r]));
  }
};

template <class Body, class T>
static void Run(const Place& place, const MarginLossArgs<T>& args, T* terms) {
  const MarginRows<T> rows{args, terms, static_cast<T>(args.classes)};
  ForSharedRows<T, Body>(place, RowsArgs<MarginRows<T>>{args.rows, args.classes, args.order, rows});
}

template <class T>
static void RunLoss(const Place& place, const MarginLossArgs<T>& args) {
  OpScratch scratch(place);
  Run<MultiMarginLoss>(place, args, scratch.Get<T>(args.rows * args.classes));
}

REPDL_CUDA_KERNEL(MultiMarginKernel, MarginLossArgs<float>) { RunLoss(place, args); }
REPDL_CUDA_KERNEL(MultiMarginKernel, MarginLossArgs<double>) { RunLoss(place, args); }
REPDL_CUDA_KERNEL(MultiMarginGradKernel, MarginLossArgs<float>) { Run<MultiMarginSlope>(place, args, args.grad_input); }
REPDL_CUDA_KERNEL(MultiMarginGradKernel, MarginLossArgs<double>) {
  Run<MultiMarginSlope>(place, args, args.grad_input);
}

}  // namespace repdl::cuda

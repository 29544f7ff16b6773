// SPDX-License-Identifier: MIT
#include "repdl/ops/softmax.h"

#include "base/check.h"
#include "base/dispatch.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "ops/softmax/softmax_kernel.h"

namespace repdl {
namespace {

/// The dimensions before the one of the rows are a batch.
int NumBatchDims(const TensorView& input, int64_t dim) { return static_cast<int>(dim < 0 ? dim + input.rank() : dim); }

Specs Infer(std::string_view op, const TensorView& input, int64_t dim) {
  CheckFloat({op, "input"}, input, input);
  CheckDim({op, "dim"}, dim, std::max(input.rank(), 1));
  return Specs{{input.dtype, input.shape}}.OfBatch(NumBatchDims(input, dim));
}

Specs InferGrad(std::string_view op, const TensorView& grad_output, const TensorView& output, int64_t dim) {
  CheckFloat({op, "grad_output"}, grad_output, grad_output);
  CheckFloat({op, "output"}, output, grad_output);
  CheckShape({op, "output"}, output, grad_output.shape);
  CheckDim({op, "dim"}, dim, std::max(output.rank(), 1));
  return Specs{{output.dtype, output.shape}}.OfBatch(NumBatchDims(output, dim));
}

/// A tensor without dimensions is a row of one number.
TensorView AtLeast1d(TensorView tensor) {
  if (tensor.rank() == 0) {
    tensor.shape.Append(1);
    tensor.strides.Append(1);
  }
  return tensor;
}

template <class T>
SoftmaxArgs<T> MakeArgs(const TensorView& input, const TensorView* output, int64_t dim, Order order,
                        const TensorView& result) {
  const TensorView x = AtLeast1d(input);
  const int at = static_cast<int>(dim < 0 ? dim + x.rank() : dim);
  SoftmaxArgs<T> args{};
  args.n = x.shape[at];
  args.num_rows = x.numel() / args.n;
  args.input = RowsAlong<T>(x, at);
  if (output != nullptr) args.output = RowsAlong<T>(AtLeast1d(*output), at);
  args.result = RowsAlong<T>(AtLeast1d(result), at);
  args.order = order;
  return args;
}

/// Checks the operands of a forward op.
Place Check(std::string_view op, const TensorView& input, int64_t dim, const TensorView& output) {
  CheckOutputs(op, Infer(op, input, dim), {&output}, input);
  return PlaceOf(op, input);
}

Place CheckGrad(std::string_view op, const TensorView& grad_output, const TensorView& output, int64_t dim,
                const TensorView& grad_input) {
  CheckOutputs(op, InferGrad(op, grad_output, output, dim), {&grad_input}, grad_output);
  return PlaceOf(op, grad_output);
}

}  // namespace

Specs InferSoftmax(const TensorView& input, int64_t dim, Order) { return Infer("softmax", input, dim); }
void Softmax(const TensorView& input, int64_t dim, Order order, Out output) {
  const FpEnvGuard guard;
  const Place place = Check("softmax", input, dim, output);
  if (output.numel() == 0) return;
  DispatchReal(input.dtype, [&]<class T>() { SoftmaxKernel(place, MakeArgs<T>(input, nullptr, dim, order, output)); });
}
Specs InferLogSoftmax(const TensorView& input, int64_t dim, Order) { return Infer("log_softmax", input, dim); }
void LogSoftmax(const TensorView& input, int64_t dim, Order order, Out output) {
  const FpEnvGuard guard;
  const Place place = Check("log_softmax", input, dim, output);
  if (output.numel() == 0) return;
  DispatchReal(input.dtype,
               [&]<class T>() { LogSoftmaxKernel(place, MakeArgs<T>(input, nullptr, dim, order, output)); });
}

Specs InferSoftmaxGrad(const TensorView& grad_output, const TensorView& output, int64_t dim, Order) {
  return InferGrad("softmax_grad", grad_output, output, dim);
}
void SoftmaxGrad(const TensorView& grad_output, const TensorView& output, int64_t dim, Order order, Out grad_input) {
  const FpEnvGuard guard;
  const Place place = CheckGrad("softmax_grad", grad_output, output, dim, grad_input);
  if (grad_input.numel() == 0) return;
  DispatchReal(output.dtype,
               [&]<class T>() { SoftmaxGradKernel(place, MakeArgs<T>(grad_output, &output, dim, order, grad_input)); });
}
Specs InferLogSoftmaxGrad(const TensorView& grad_output, const TensorView& output, int64_t dim, Order) {
  return InferGrad("log_softmax_grad", grad_output, output, dim);
}
void LogSoftmaxGrad(const TensorView& grad_output, const TensorView& output, int64_t dim, Order order, Out grad_input) {
  const FpEnvGuard guard;
  const Place place = CheckGrad("log_softmax_grad", grad_output, output, dim, grad_input);
  if (grad_input.numel() == 0) return;
  DispatchReal(output.dtype, [&]<class T>() {
    LogSoftmaxGradKernel(place, MakeArgs<T>(grad_output, &output, dim, order, grad_input));
  });
}

}  // namespace repdl

REPDL_OPS(softmax,
          MakeOp<InferSoftmax, Softmax, SoftmaxKernel>("softmax", "input, dim=-1, order='blocked'", kFloat32Or64),
          MakeOp<InferSoftmaxGrad, SoftmaxGrad, SoftmaxGradKernel>("softmax_grad",
                                                                   "grad_output, output, dim=-1, order='blocked'",
                                                                   kFloat32Or64),
          MakeOp<InferLogSoftmax, LogSoftmax, LogSoftmaxKernel>("log_softmax", "input, dim=-1, order='blocked'",
                                                                kFloat32Or64),
          MakeOp<InferLogSoftmaxGrad, LogSoftmaxGrad, LogSoftmaxGradKernel>(
              "log_softmax_grad", "grad_output, output, dim=-1, order='blocked'", kFloat32Or64))

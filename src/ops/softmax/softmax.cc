// SPDX-License-Identifier: MIT
#include "repdl/ops/softmax.h"

#include "base/check.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "ops/softmax/softmax_kernel.h"

namespace repdl {
namespace {

Specs Infer(std::string_view op, const TensorView& input, int64_t dim) {
  CheckFloat({op, "input"}, input, input);
  CheckDim({op, "dim"}, dim, std::max(input.rank(), 1));
  return {{DType::kFloat32, input.shape}};
}

Specs InferGrad(std::string_view op, const TensorView& grad_output, const TensorView& output, int64_t dim) {
  CheckFloat({op, "grad_output"}, grad_output, grad_output);
  CheckFloat({op, "output"}, output, grad_output);
  CheckShape({op, "output"}, output, grad_output.shape);
  CheckDim({op, "dim"}, dim, std::max(output.rank(), 1));
  return {{DType::kFloat32, output.shape}};
}

/// A tensor without dimensions is a row of one number.
TensorView AtLeast1d(TensorView tensor) {
  if (tensor.rank() == 0) {
    tensor.shape.Append(1);
    tensor.strides.Append(1);
  }
  return tensor;
}

SoftmaxArgs MakeArgs(const TensorView& input, const TensorView* output, int64_t dim, bool log, Order order,
                     const TensorView& result) {
  const TensorView x = AtLeast1d(input);
  const int at = static_cast<int>(dim < 0 ? dim + x.rank() : dim);
  SoftmaxArgs args{};
  args.n = x.shape[at];
  args.num_rows = x.numel() / args.n;
  args.input = RowsAlong(x, at);
  if (output != nullptr) args.output = RowsAlong(AtLeast1d(*output), at);
  args.result = RowsAlong(AtLeast1d(result), at);
  args.log = log;
  args.order = order;
  return args;
}

void Run(std::string_view op, const TensorView& input, int64_t dim, bool log, Order order, const TensorView& output) {
  const FpEnvGuard guard;
  CheckOutputs(op, Infer(op, input, dim), {&output}, input);
  CheckCpu(op, input);
  if (output.numel() > 0) SoftmaxKernel(MakeArgs(input, nullptr, dim, log, order, output));
}

void RunGrad(std::string_view op, const TensorView& grad_output, const TensorView& output, int64_t dim, bool log,
             Order order, const TensorView& grad_input) {
  const FpEnvGuard guard;
  CheckOutputs(op, InferGrad(op, grad_output, output, dim), {&grad_input}, grad_output);
  CheckCpu(op, grad_output);
  if (grad_input.numel() > 0) SoftmaxGradKernel(MakeArgs(grad_output, &output, dim, log, order, grad_input));
}

}  // namespace

Specs InferSoftmax(const TensorView& input, int64_t dim, Order) { return Infer("softmax", input, dim); }
void Softmax(const TensorView& input, int64_t dim, Order order, Out output) {
  Run("softmax", input, dim, /*log=*/false, order, output);
}
Specs InferLogSoftmax(const TensorView& input, int64_t dim, Order) { return Infer("log_softmax", input, dim); }
void LogSoftmax(const TensorView& input, int64_t dim, Order order, Out output) {
  Run("log_softmax", input, dim, /*log=*/true, order, output);
}

Specs InferSoftmaxGrad(const TensorView& grad_output, const TensorView& output, int64_t dim, Order) {
  return InferGrad("softmax_grad", grad_output, output, dim);
}
void SoftmaxGrad(const TensorView& grad_output, const TensorView& output, int64_t dim, Order order, Out grad_input) {
  RunGrad("softmax_grad", grad_output, output, dim, /*log=*/false, order, grad_input);
}
Specs InferLogSoftmaxGrad(const TensorView& grad_output, const TensorView& output, int64_t dim, Order) {
  return InferGrad("log_softmax_grad", grad_output, output, dim);
}
void LogSoftmaxGrad(const TensorView& grad_output, const TensorView& output, int64_t dim, Order order, Out grad_input) {
  RunGrad("log_softmax_grad", grad_output, output, dim, /*log=*/true, order, grad_input);
}

}  // namespace repdl

REPDL_OPS(softmax, MakeOp<InferSoftmax, Softmax>("softmax", "input, dim=-1, order='blocked'"),
          MakeOp<InferSoftmaxGrad, SoftmaxGrad>("softmax_grad", "grad_output, output, dim=-1, order='blocked'"),
          MakeOp<InferLogSoftmax, LogSoftmax>("log_softmax", "input, dim=-1, order='blocked'"),
          MakeOp<InferLogSoftmaxGrad, LogSoftmaxGrad>("log_softmax_grad",
                                                      "grad_output, output, dim=-1, order='blocked'"))

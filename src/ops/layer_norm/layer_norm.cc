// SPDX-License-Identifier: MIT
#include "repdl/ops/layer_norm.h"

#include "base/check.h"
#include "base/dispatch.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "base/op_scratch.h"
#include "drivers/contiguous.h"
#include "ops/layer_norm/layer_norm_kernel.h"

namespace repdl {
namespace {

using OptionalTensor = std::optional<TensorView>;

/// The shape of mean and rstd.
IntList CheckInput(std::string_view op, const TensorView& input, const IntList& normalized_shape) {
  CheckFloat({op, "input"}, input, input);
  const int normalized = normalized_shape.size(), first = input.rank() - normalized;
  REPDL_CHECK(normalized > 0 && first >= 0 &&
                  std::equal(normalized_shape.begin(), normalized_shape.end(), input.shape.begin() + first),
              ArgName{op, "normalized_shape"}, " must be the last dimensions of input, of shape ", Name(input.shape),
              ", at least one; got ", Name(normalized_shape));
  IntList shape = input.shape;
  for (int i = first; i < input.rank(); ++i) shape[i] = 1;
  return shape;
}

/// The shape of rstd.
IntList CheckForward(std::string_view op, const TensorView& input, const IntList& normalized_shape,
                     const OptionalTensor& weight, const OptionalTensor& bias) {
  const IntList row_shape = CheckInput(op, input, normalized_shape);
  CheckFloat({op, "weight"}, weight, normalized_shape, input);
  CheckFloat({op, "bias"}, bias, normalized_shape, input);
  for (const int64_t size : normalized_shape) {
    REPDL_CHECK(size > 0, ArgName{op, "normalized_shape"}, " ", Name(normalized_shape),
                " has no value to normalize; give sizes above 0");
  }
  return row_shape;
}

void CheckGrad(std::string_view op, const TensorView& grad_output, const TensorView& input,
               const IntList& normalized_shape, const OptionalTensor& mean, const TensorView& rstd,
               const OptionalTensor& weight) {
  const IntList row_shape = CheckInput(op, input, normalized_shape);
  CheckFloat({op, "grad_output"}, grad_output, input.shape, input);
  CheckFloat({op, "mean"}, mean, row_shape, input);
  CheckFloat({op, "rstd"}, rstd, row_shape, input);
  CheckFloat({op, "weight"}, weight, normalized_shape, input);
}

template <class T>
LayerNormArgs<T> MakeArgs(const TensorView& input, const IntList& normalized_shape, const OptionalTensor& weight,
                          Order order, OpScratch& scratch) {
  LayerNormArgs<T> args{};
  args.n = 1;
  for (const int64_t size : normalized_shape) args.n *= size;
  args.rows = input.numel() / args.n;
  args.input = Contiguous(input, scratch).Data<const T>();
  args.weight = ContiguousOr<T>(1, weight, args.n, scratch);
  args.affine_rows = 1;
  args.places = 1;
  args.order = order;
  return args;
}

template <class T>
void RunOn(std::string_view op, const TensorView& input, const IntList& normalized_shape, const OptionalTensor& weight,
           const OptionalTensor& bias, double eps, Order order, const TensorView& output, const TensorView* mean,
           const TensorView& rstd) {
  const Place place = PlaceOf(op, input);
  if (input.numel() == 0) return;
  OpScratch scratch(place);
  LayerNormArgs<T> args = MakeArgs<T>(input, normalized_shape, weight, order, scratch);
  args.bias = ContiguousOr<T>(-0.0, bias, args.n, scratch);
  args.eps = static_cast<T>(eps);
  if (mean != nullptr) args.mean = mean->Data<T>();
  args.rstd = rstd.Data<T>();
  args.output = output.Data<T>();
  LayerNormKernel(place, args);
}

template <class T>
void RunGradOn(std::string_view op, const TensorView& grad_output, const TensorView& input,
               const IntList& normalized_shape, const OptionalTensor& mean, const TensorView& rstd,
               const OptionalTensor& weight, Order order, const TensorView& grad_input, const TensorView* grad_weight,
               const TensorView* grad_bias) {
  const Place place = PlaceOf(op, input);
  if (input.numel() == 0) {
    for (const TensorView* grad : {grad_weight, grad_bias}) {
      if (grad != nullptr) FillWithZero(place, *grad);
    }
    return;
  }
  OpScratch scratch(place);
  LayerNormArgs<T> args = MakeArgs<T>(input, normalized_shape, weight, order, scratch);
  args.grad_output = Contiguous(grad_output, scratch).Data<const T>();
  if (mean) args.mean = Contiguous(*mean, scratch).Data<T>();
  args.rstd = Contiguous(rstd, scratch).Data<T>();
  args.grad_input = grad_input.Data<T>();
  if (grad_weight != nullptr) args.grad_weight = grad_weight->Data<T>();
  if (grad_bias != nullptr) args.grad_bias = grad_bias->Data<T>();
  LayerNormGradKernel(place, args);
}

template <class... Args>
void Run(std::string_view op, const TensorView& input, const Args&... args) {
  DispatchReal(input.dtype, [&]<class T>() { RunOn<T>(op, input, args...); });
}

template <class... Args>
void RunGrad(std::string_view op, const TensorView& grad_output, const Args&... args) {
  DispatchReal(grad_output.dtype, [&]<class T>() { RunGradOn<T>(op, grad_output, args...); });
}

}  // namespace

Specs InferLayerNorm(const TensorView& input, const IntList& normalized_shape, const OptionalTensor& weight,
                     const OptionalTensor& bias, double, Order) {
  const IntList row_shape = CheckForward("layer_norm", input, normalized_shape, weight, bias);
  const Specs specs{{input.dtype, input.shape}, {input.dtype, row_shape}, {input.dtype, row_shape}};
  return specs.OfBatch(input.rank() - normalized_shape.size());
}

void LayerNorm(const TensorView& input, const IntList& normalized_shape, const OptionalTensor& weight,
               const OptionalTensor& bias, double eps, Order order, Out output, Out mean, Out rstd) {
  const FpEnvGuard guard;
  CheckOutputs("layer_norm", InferLayerNorm(input, normalized_shape, weight, bias, eps, order), {&output, &mean, &rstd},
               input);
  Run("layer_norm", input, normalized_shape, weight, bias, eps, order, output, &mean, rstd);
}

Specs InferLayerNormGrad(const TensorView& grad_output, const TensorView& input, const IntList& normalized_shape,
                         const TensorView& mean, const TensorView& rstd, const OptionalTensor& weight, Order) {
  CheckGrad("layer_norm_grad", grad_output, input, normalized_shape, mean, rstd, weight);
  return {{input.dtype, input.shape}, {input.dtype, normalized_shape}, {input.dtype, normalized_shape}};
}

void LayerNormGrad(const TensorView& grad_output, const TensorView& input, const IntList& normalized_shape,
                   const TensorView& mean, const TensorView& rstd, const OptionalTensor& weight, Order order,
                   Out grad_input, Out grad_weight, Out grad_bias) {
  const FpEnvGuard guard;
  CheckOutputs("layer_norm_grad", InferLayerNormGrad(grad_output, input, normalized_shape, mean, rstd, weight, order),
               {&grad_input, &grad_weight, &grad_bias}, input);
  RunGrad("layer_norm_grad", grad_output, input, normalized_shape, mean, rstd, weight, order, grad_input, &grad_weight,
          &grad_bias);
}

Specs InferLayerNormGradInput(const TensorView& grad_output, const TensorView& input, const IntList& normalized_shape,
                              const TensorView& mean, const TensorView& rstd, const OptionalTensor& weight, Order) {
  CheckGrad("layer_norm_grad_input", grad_output, input, normalized_shape, mean, rstd, weight);
  return Specs{{input.dtype, input.shape}}.OfBatch(input.rank() - normalized_shape.size());
}

void LayerNormGradInput(const TensorView& grad_output, const TensorView& input, const IntList& normalized_shape,
                        const TensorView& mean, const TensorView& rstd, const OptionalTensor& weight, Order order,
                        Out grad_input) {
  const FpEnvGuard guard;
  CheckOutputs("layer_norm_grad_input",
               InferLayerNormGradInput(grad_output, input, normalized_shape, mean, rstd, weight, order), {&grad_input},
               input);
  RunGrad("layer_norm_grad_input", grad_output, input, normalized_shape, mean, rstd, weight, order, grad_input, nullptr,
          nullptr);
}

Specs InferRmsNorm(const TensorView& input, const IntList& normalized_shape, const OptionalTensor& weight, double,
                   Order) {
  const IntList row_shape = CheckForward("rms_norm", input, normalized_shape, weight, std::nullopt);
  return Specs{{input.dtype, input.shape}, {input.dtype, row_shape}}.OfBatch(input.rank() - normalized_shape.size());
}

void RmsNorm(const TensorView& input, const IntList& normalized_shape, const OptionalTensor& weight, double eps,
             Order order, Out output, Out rstd) {
  const FpEnvGuard guard;
  CheckOutputs("rms_norm", InferRmsNorm(input, normalized_shape, weight, eps, order), {&output, &rstd}, input);
  Run("rms_norm", input, normalized_shape, weight, std::nullopt, eps, order, output, nullptr, rstd);
}

Specs InferRmsNormGrad(const TensorView& grad_output, const TensorView& input, const IntList& normalized_shape,
                       const TensorView& rstd, const OptionalTensor& weight, Order) {
  CheckGrad("rms_norm_grad", grad_output, input, normalized_shape, std::nullopt, rstd, weight);
  return {{input.dtype, input.shape}, {input.dtype, normalized_shape}};
}

void RmsNormGrad(const TensorView& grad_output, const TensorView& input, const IntList& normalized_shape,
                 const TensorView& rstd, const OptionalTensor& weight, Order order, Out grad_input, Out grad_weight) {
  const FpEnvGuard guard;
  CheckOutputs("rms_norm_grad", InferRmsNormGrad(grad_output, input, normalized_shape, rstd, weight, order),
               {&grad_input, &grad_weight}, input);
  RunGrad("rms_norm_grad", grad_output, input, normalized_shape, std::nullopt, rstd, weight, order, grad_input,
          &grad_weight, nullptr);
}

Specs InferRmsNormGradInput(const TensorView& grad_output, const TensorView& input, const IntList& normalized_shape,
                            const TensorView& rstd, const OptionalTensor& weight, Order) {
  CheckGrad("rms_norm_grad_input", grad_output, input, normalized_shape, std::nullopt, rstd, weight);
  return Specs{{input.dtype, input.shape}}.OfBatch(input.rank() - normalized_shape.size());
}

void RmsNormGradInput(const TensorView& grad_output, const TensorView& input, const IntList& normalized_shape,
                      const TensorView& rstd, const OptionalTensor& weight, Order order, Out grad_input) {
  const FpEnvGuard guard;
  CheckOutputs("rms_norm_grad_input", InferRmsNormGradInput(grad_output, input, normalized_shape, rstd, weight, order),
               {&grad_input}, input);
  RunGrad("rms_norm_grad_input", grad_output, input, normalized_shape, std::nullopt, rstd, weight, order, grad_input,
          nullptr, nullptr);
}

}  // namespace repdl

REPDL_OPS(
    layer_norm,
    MakeOp<InferLayerNorm, LayerNorm, LayerNormKernel>("layer_norm",
                                                       "input, normalized_shape, weight=None, bias=None, eps=1e-05, "
                                                       "order='blocked'",
                                                       kFloat32Or64),
    MakeOp<InferLayerNormGrad, LayerNormGrad, LayerNormGradKernel>(
        "layer_norm_grad",
        "grad_output, input, normalized_shape, mean, rstd, weight=None, "
        "order='blocked'",
        kFloat32Or64),
    MakeOp<InferLayerNormGradInput, LayerNormGradInput, LayerNormGradKernel>(
        "layer_norm_grad_input",
        "grad_output, input, normalized_shape, mean, rstd, weight=None, "
        "order='blocked'",
        kFloat32Or64),
    MakeOp<InferRmsNorm, RmsNorm, LayerNormKernel>("rms_norm",
                                                   "input, normalized_shape, weight=None, eps=1.1920928955078125e-07, "
                                                   "order='blocked'",
                                                   kFloat32Or64),
    MakeOp<InferRmsNormGrad, RmsNormGrad, LayerNormGradKernel>(
        "rms_norm_grad",
        "grad_output, input, normalized_shape, rstd, weight=None, "
        "order='blocked'",
        kFloat32Or64),
    MakeOp<InferRmsNormGradInput, RmsNormGradInput, LayerNormGradKernel>(
        "rms_norm_grad_input",
        "grad_output, input, normalized_shape, rstd, weight=None, "
        "order='blocked'",
        kFloat32Or64))

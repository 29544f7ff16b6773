// SPDX-License-Identifier: MIT
#include "repdl/ops/batch_norm.h"

#include "base/check.h"
#include "base/dispatch.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "base/op_scratch.h"
#include "drivers/contiguous.h"
#include "ops/batch_norm/batch_norm_kernel.h"

namespace repdl {
namespace {

void CheckInput(std::string_view op, const TensorView& input) {
  CheckFloat({op, "input"}, input, input);
  CheckRank({op, "input"}, input, 2, kMaxRank, "(n, c) or (n, c, …)");
}

void CheckAffine(std::string_view op, const TensorView& input, const std::optional<TensorView>& weight,
                 const std::optional<TensorView>& bias) {
  CheckInput(op, input);
  CheckFloat({op, "weight"}, weight, {input.shape[1]}, input);
  CheckFloat({op, "bias"}, bias, {input.shape[1]}, input);
}

/// Of an input that is not empty. The numbers of a single channel all lie side by side.
template <class T>
void SetSizes(const TensorView& input, BatchNormArgs<T>& args) {
  args.channels = input.shape[1];
  args.samples = args.channels == 1 ? 1 : input.shape[0];
  args.places = input.numel() / (args.samples * args.channels);
}

/// Its numbers side by side, or null.
template <class T>
T* NumbersOf(const std::optional<TensorView>& tensor, OpScratch& scratch) {
  return tensor ? Contiguous(*tensor, scratch).Data<T>() : nullptr;
}

void Run(std::string_view op, const TensorView& input, const std::optional<TensorView>& weight,
         const std::optional<TensorView>& bias, double eps, Order order, bool training, const TensorView& mean,
         const TensorView& var, const TensorView* output) {
  const Place place = PlaceOf(op, input);
  if (input.numel() == 0) return;
  DispatchReal(input.dtype, [&]<class T>() {
    OpScratch scratch(place);
    BatchNormArgs<T> args{};
    SetSizes(input, args);
    args.input = Contiguous(input, scratch).Data<const T>();
    args.weight = NumbersOf<T>(weight, scratch);
    args.bias = NumbersOf<T>(bias, scratch);
    args.eps = static_cast<T>(eps);
    args.order = order;
    args.training = training;
    args.mean = NumbersOf<T>(mean, scratch);
    args.var = NumbersOf<T>(var, scratch);
    args.output = output == nullptr ? nullptr : output->Data<T>();
    BatchNormKernel(place, args);
  });
}

void CheckCount(std::string_view op, const TensorView& input) {
  REPDL_CHECK(input.numel() > 0 || input.shape[1] == 0, ArgName{op, "input"}, " of shape ", Name(input.shape),
              " has no value a channel to take the mean of");
}

Specs InferGrad(std::string_view op, const TensorView& grad_output, const TensorView& input, const TensorView& mean,
                const TensorView& var, const std::optional<TensorView>& weight) {
  CheckInput(op, input);
  CheckFloat({op, "grad_output"}, grad_output, input);
  CheckShape({op, "grad_output"}, grad_output, input.shape);
  CheckFloat({op, "mean"}, mean, {input.shape[1]}, input);
  CheckFloat({op, "var"}, var, {input.shape[1]}, input);
  CheckFloat({op, "weight"}, weight, {input.shape[1]}, input);
  const IntList channels{input.shape[1]};
  return {{input.dtype, input.shape}, {input.dtype, channels}, {input.dtype, channels}};
}

void RunGrad(std::string_view op, const TensorView& grad_output, const TensorView& input, const TensorView& mean,
             const TensorView& var, const std::optional<TensorView>& weight, double eps, Order order, bool training,
             const TensorView& grad_input, const TensorView& grad_weight, const TensorView& grad_bias) {
  const FpEnvGuard guard;
  CheckOutputs(op, InferGrad(op, grad_output, input, mean, var, weight), {&grad_input, &grad_weight, &grad_bias},
               input);
  const Place place = PlaceOf(op, input);
  FillWithZero(place, grad_weight);
  FillWithZero(place, grad_bias);
  if (input.numel() == 0) return;
  DispatchReal(input.dtype, [&]<class T>() {
    OpScratch scratch(place);
    BatchNormArgs<T> args{};
    SetSizes(input, args);
    args.input = Contiguous(input, scratch).Data<const T>();
    args.grad_output = Contiguous(grad_output, scratch).Data<const T>();
    args.weight = NumbersOf<T>(weight, scratch);
    args.eps = static_cast<T>(eps);
    args.order = order;
    args.training = training;
    args.mean = NumbersOf<T>(mean, scratch);
    args.var = NumbersOf<T>(var, scratch);
    args.grad_input = grad_input.Data<T>();
    args.grad_weight = grad_weight.Data<T>();
    args.grad_bias = grad_bias.Data<T>();
    BatchNormGradKernel(place, args);
  });
}

}  // namespace

Specs InferBatchNorm(const TensorView& input, const std::optional<TensorView>& weight,
                     const std::optional<TensorView>& bias, double, Order) {
  CheckAffine("batch_norm", input, weight, bias);
  CheckCount("batch_norm", input);
  const IntList channels{input.shape[1]};
  return {{input.dtype, input.shape}, {input.dtype, channels}, {input.dtype, channels}};
}

void BatchNorm(const TensorView& input, const std::optional<TensorView>& weight, const std::optional<TensorView>& bias,
               double eps, Order order, Out output, Out mean, Out var) {
  const FpEnvGuard guard;
  CheckOutputs("batch_norm", InferBatchNorm(input, weight, bias, eps, order), {&output, &mean, &var}, input);
  Run("batch_norm", input, weight, bias, eps, order, /*training=*/true, mean, var, &output);
}

Specs InferBatchNormStats(const TensorView& input, Order) {
  CheckInput("batch_norm_stats", input);
  CheckCount("batch_norm_stats", input);
  const IntList channels{input.shape[1]};
  return {{input.dtype, channels}, {input.dtype, channels}};
}

void BatchNormStats(const TensorView& input, Order order, Out mean, Out var) {
  const FpEnvGuard guard;
  CheckOutputs("batch_norm_stats", InferBatchNormStats(input, order), {&mean, &var}, input);
  Run("batch_norm_stats", input, {}, {}, 0, order, /*training=*/true, mean, var, nullptr);
}

Specs InferBatchNormEval(const TensorView& input, const TensorView& mean, const TensorView& var,
                         const std::optional<TensorView>& weight, const std::optional<TensorView>& bias, double) {
  CheckAffine("batch_norm_eval", input, weight, bias);
  CheckFloat({"batch_norm_eval", "mean"}, mean, {input.shape[1]}, input);
  CheckFloat({"batch_norm_eval", "var"}, var, {input.shape[1]}, input);
  return Specs{{input.dtype, input.shape}}.OfBatch(1);
}

void BatchNormEval(const TensorView& input, const TensorView& mean, const TensorView& var,
                   const std::optional<TensorView>& weight, const std::optional<TensorView>& bias, double eps,
                   Out output) {
  const FpEnvGuard guard;
  CheckOutputs("batch_norm_eval", InferBatchNormEval(input, mean, var, weight, bias, eps), {&output}, input);
  Run("batch_norm_eval", input, weight, bias, eps, Order::kBlocked, /*training=*/false, mean, var, &output);
}

Specs InferBatchNormGrad(const TensorView& grad_output, const TensorView& input, const TensorView& mean,
                         const TensorView& var, const std::optional<TensorView>& weight, double, Order) {
  return InferGrad("batch_norm_grad", grad_output, input, mean, var, weight);
}

void BatchNormGrad(const TensorView& grad_output, const TensorView& input, const TensorView& mean,
                   const TensorView& var, const std::optional<TensorView>& weight, double eps, Order order,
                   Out grad_input, Out grad_weight, Out grad_bias) {
  RunGrad("batch_norm_grad", grad_output, input, mean, var, weight, eps, order, /*training=*/true, grad_input,
          grad_weight, grad_bias);
}

Specs InferBatchNormEvalGrad(const TensorView& grad_output, const TensorView& input, const TensorView& mean,
                             const TensorView& var, const std::optional<TensorView>& weight, double, Order) {
  return InferGrad("batch_norm_eval_grad", grad_output, input, mean, var, weight);
}

void BatchNormEvalGrad(const TensorView& grad_output, const TensorView& input, const TensorView& mean,
                       const TensorView& var, const std::optional<TensorView>& weight, double eps, Order order,
                       Out grad_input, Out grad_weight, Out grad_bias) {
  RunGrad("batch_norm_eval_grad", grad_output, input, mean, var, weight, eps, order, /*training=*/false, grad_input,
          grad_weight, grad_bias);
}

Specs InferBatchNormUpdate(const InOut& running, const TensorView& value, double, double) {
  CheckFloat({"batch_norm_update", "running"}, running, running);
  CheckFloat({"batch_norm_update", "value"}, value, running);
  CheckShape({"batch_norm_update", "value"}, value, running.shape);
  CheckRank({"batch_norm_update", "running"}, running, 1, 1, "(c)");
  return {};
}

void BatchNormUpdate(InOut running, const TensorView& value, double momentum, double scale) {
  const FpEnvGuard guard;
  InferBatchNormUpdate(running, value, momentum, scale);
  const Place place = PlaceOf("batch_norm_update", running);
  if (running.numel() == 0) return;
  DispatchReal(running.dtype, [&]<class T>() {
    BatchNormUpdateKernel(
        place, BatchNormUpdateArgs<T>{running.shape[0], running.Data<T>(), running.strides[0], value.Data<const T>(),
                                      value.strides[0], static_cast<T>(1.0 - momentum), static_cast<T>(momentum),
                                      static_cast<T>(scale)});
  });
}

}  // namespace repdl

REPDL_OPS(
    batch_norm,
    MakeOp<InferBatchNorm, BatchNorm, BatchNormKernel>("batch_norm",
                                                       "input, weight=None, bias=None, eps=1e-05, order='blocked'",
                                                       kFloat32Or64),
    MakeOp<InferBatchNormStats, BatchNormStats, BatchNormKernel>("batch_norm_stats", "input, order='blocked'",
                                                                 kFloat32Or64),
    MakeOp<InferBatchNormEval, BatchNormEval, BatchNormKernel>("batch_norm_eval",
                                                               "input, mean, var, weight=None, bias=None, eps=1e-05",
                                                               kFloat32Or64),
    MakeOp<InferBatchNormGrad, BatchNormGrad, BatchNormGradKernel>(
        "batch_norm_grad", "grad_output, input, mean, var, weight=None, eps=1e-05, order='blocked'", kFloat32Or64),
    MakeOp<InferBatchNormEvalGrad, BatchNormEvalGrad, BatchNormGradKernel>(
        "batch_norm_eval_grad", "grad_output, input, mean, var, weight=None, eps=1e-05, order='blocked'", kFloat32Or64),
    MakeOp<InferBatchNormUpdate, BatchNormUpdate, BatchNormUpdateKernel>("batch_norm_update",
                                                                         "running, value, momentum, scale",
                                                                         kFloat32Or64))

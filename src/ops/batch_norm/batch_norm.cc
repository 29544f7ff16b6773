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

/// Tensors as the kernel wants them, (samples, channels, places). A channel of an (n, c) tensor is a column:
/// there the kernel works on transposed copies, one sample with n places.
class Layout {
 public:
  Layout(const TensorView& like, OpScratch& scratch) : scratch_(scratch), transposed_(like.rank() == 2) {}

  /// Of an input that is not empty.
  template <class T>
  void SetSizes(const TensorView& input, BatchNormArgs<T>& args) const {
    args.samples = transposed_ ? 1 : input.shape[0];
    args.channels = input.shape[1];
    args.places = transposed_ ? input.shape[0] : input.numel() / (input.shape[0] * args.channels);
  }
  void* In(const TensorView& tensor) const {
    return Contiguous(transposed_ ? Permuted(tensor, {1, 0}) : tensor, scratch_).data;
  }
  void* Out(const TensorView& tensor) const {
    return transposed_ ? scratch_.New(tensor.dtype, tensor.shape).data : tensor.data;
  }
  void PutBack(void* data, const TensorView& tensor) const {
    if (!transposed_) return;
    CopyElements(scratch_.place(), MakeView(data, tensor.dtype, {tensor.shape[1], tensor.shape[0]}),
                 Permuted(tensor, {1, 0}));
  }

 private:
  OpScratch& scratch_;
  bool transposed_;
};

/// Its numbers side by side, or null.
template <class T>
T* NumbersOf(const std::optional<TensorView>& tensor, OpScratch& scratch) {
  return tensor ? Contiguous(*tensor, scratch).Data<T>() : nullptr;
}

void Run(std::string_view op, const TensorView& input, const std::optional<TensorView>& weight,
         const std::optional<TensorView>& bias, double eps, Order order, bool training, const TensorView& mean,
         const TensorView& var, const TensorView& output) {
  const Place place = PlaceOf(op, input);
  if (input.numel() == 0) return;
  DispatchReal(input.dtype, [&]<class T>() {
    OpScratch scratch(place);
    BatchNormArgs<T> args{};
    const Layout layout(input, scratch);
    layout.SetSizes(input, args);
    args.input = static_cast<const T*>(layout.In(input));
    args.weight = NumbersOf<T>(weight, scratch);
    args.bias = NumbersOf<T>(bias, scratch);
    args.eps = static_cast<T>(eps);
    args.order = order;
    args.training = training;
    args.mean = NumbersOf<T>(mean, scratch);
    args.var = NumbersOf<T>(var, scratch);
    args.output = static_cast<T*>(layout.Out(output));
    BatchNormKernel(place, args);
    layout.PutBack(args.output, output);
  });
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
    const Layout layout(input, scratch);
    layout.SetSizes(input, args);
    args.input = static_cast<const T*>(layout.In(input));
    args.grad_output = static_cast<const T*>(layout.In(grad_output));
    args.weight = NumbersOf<T>(weight, scratch);
    args.eps = static_cast<T>(eps);
    args.order = order;
    args.training = training;
    args.mean = NumbersOf<T>(mean, scratch);
    args.var = NumbersOf<T>(var, scratch);
    args.grad_input = static_cast<T*>(layout.Out(grad_input));
    args.grad_weight = grad_weight.Data<T>();
    args.grad_bias = grad_bias.Data<T>();
    BatchNormGradKernel(place, args);
    layout.PutBack(args.grad_input, grad_input);
  });
}

}  // namespace

Specs InferBatchNorm(const TensorView& input, const std::optional<TensorView>& weight,
                     const std::optional<TensorView>& bias, double, Order) {
  CheckAffine("batch_norm", input, weight, bias);
  REPDL_CHECK(input.numel() > 0 || input.shape[1] == 0, ArgName{"batch_norm", "input"}, " of shape ", Name(input.shape),
              " has no value a channel to take the mean of");
  const IntList channels{input.shape[1]};
  return {{input.dtype, input.shape}, {input.dtype, channels}, {input.dtype, channels}};
}

void BatchNorm(const TensorView& input, const std::optional<TensorView>& weight, const std::optional<TensorView>& bias,
               double eps, Order order, Out output, Out mean, Out var) {
  const FpEnvGuard guard;
  CheckOutputs("batch_norm", InferBatchNorm(input, weight, bias, eps, order), {&output, &mean, &var}, input);
  Run("batch_norm", input, weight, bias, eps, order, /*training=*/true, mean, var, output);
}

Specs InferBatchNormEval(const TensorView& input, const TensorView& mean, const TensorView& var,
                         const std::optional<TensorView>& weight, const std::optional<TensorView>& bias, double) {
  CheckAffine("batch_norm_eval", input, weight, bias);
  CheckFloat({"batch_norm_eval", "mean"}, mean, {input.shape[1]}, input);
  CheckFloat({"batch_norm_eval", "var"}, var, {input.shape[1]}, input);
  return {{input.dtype, input.shape}};
}

void BatchNormEval(const TensorView& input, const TensorView& mean, const TensorView& var,
                   const std::optional<TensorView>& weight, const std::optional<TensorView>& bias, double eps,
                   Out output) {
  const FpEnvGuard guard;
  CheckOutputs("batch_norm_eval", InferBatchNormEval(input, mean, var, weight, bias, eps), {&output}, input);
  Run("batch_norm_eval", input, weight, bias, eps, Order::kBlocked, /*training=*/false, mean, var, output);
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
  DispatchReal(running.dtype, [&]<class T>() {
    const auto keep = static_cast<T>(1.0 - momentum), take = static_cast<T>(momentum);
    const auto factor = static_cast<T>(scale);
    for (int64_t c = 0; c < running.shape[0]; ++c) {
      T& r = running.Data<T>()[c * running.strides[0]];
      r = r * keep + take * (value.Data<const T>()[c * value.strides[0]] * factor);
    }
  });
}

}  // namespace repdl

REPDL_OPS(
    batch_norm,
    MakeOp<InferBatchNorm, BatchNorm, BatchNormKernel>("batch_norm",
                                                       "input, weight=None, bias=None, eps=1e-05, order='blocked'",
                                                       kFloat32Or64),
    MakeOp<InferBatchNormEval, BatchNormEval, BatchNormKernel>("batch_norm_eval",
                                                               "input, mean, var, weight=None, bias=None, eps=1e-05",
                                                               kFloat32Or64),
    MakeOp<InferBatchNormGrad, BatchNormGrad, BatchNormGradKernel>(
        "batch_norm_grad", "grad_output, input, mean, var, weight=None, eps=1e-05, order='blocked'", kFloat32Or64),
    MakeOp<InferBatchNormEvalGrad, BatchNormEvalGrad, BatchNormGradKernel>(
        "batch_norm_eval_grad", "grad_output, input, mean, var, weight=None, eps=1e-05, order='blocked'", kFloat32Or64),
    MakeOp<InferBatchNormUpdate, BatchNormUpdate>("batch_norm_update", "running, value, momentum, scale", kFloat32Or64))

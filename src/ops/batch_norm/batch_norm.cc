// SPDX-License-Identifier: MIT
#include "repdl/ops/batch_norm.h"

#include "base/arena.h"
#include "base/check.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
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
  Layout(const TensorView& like, Scratch& scratch) : scratch_(scratch), transposed_(like.rank() == 2) {}

  /// Of an input that is not empty.
  void SetSizes(const TensorView& input, BatchNormArgs& args) const {
    args.samples = transposed_ ? 1 : input.shape[0];
    args.channels = input.shape[1];
    args.places = transposed_ ? input.shape[0] : input.numel() / (input.shape[0] * args.channels);
  }
  const float* In(const TensorView& tensor) const {
    return Contiguous(transposed_ ? Permuted(tensor, {1, 0}) : tensor, scratch_).Data<const float>();
  }
  float* Out(const TensorView& tensor) const {
    return transposed_ ? scratch_.Get<float>(tensor.numel()) : tensor.Data<float>();
  }
  void PutBack(const float* data, const TensorView& tensor) const {
    if (transposed_) CopyElements(MakeView(data, {tensor.shape[1], tensor.shape[0]}), Permuted(tensor, {1, 0}));
  }

 private:
  Scratch& scratch_;
  bool transposed_;
};

void Run(std::string_view op, const TensorView& input, const std::optional<TensorView>& weight,
         const std::optional<TensorView>& bias, double eps, Order order, bool training, float* mean, float* var,
         const TensorView& output) {
  CheckCpu(op, input);
  if (input.numel() == 0) return;
  Scratch scratch;
  BatchNormArgs args{};
  const Layout layout(input, scratch);
  layout.SetSizes(input, args);
  args.input = layout.In(input);
  args.weight = weight ? Contiguous(*weight, scratch).Data<const float>() : nullptr;
  args.bias = bias ? Contiguous(*bias, scratch).Data<const float>() : nullptr;
  args.eps = static_cast<float>(eps);
  args.order = order;
  args.training = training;
  args.mean = mean;
  args.var = var;
  args.output = layout.Out(output);
  BatchNormKernel(args);
  layout.PutBack(args.output, output);
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
  return {{DType::kFloat32, input.shape}, {DType::kFloat32, channels}, {DType::kFloat32, channels}};
}

void RunGrad(std::string_view op, const TensorView& grad_output, const TensorView& input, const TensorView& mean,
             const TensorView& var, const std::optional<TensorView>& weight, double eps, Order order, bool training,
             const TensorView& grad_input, const TensorView& grad_weight, const TensorView& grad_bias) {
  const FpEnvGuard guard;
  CheckOutputs(op, InferGrad(op, grad_output, input, mean, var, weight), {&grad_input, &grad_weight, &grad_bias},
               input);
  CheckCpu(op, input);
  std::fill_n(grad_weight.Data<float>(), grad_weight.numel(), 0.0f);
  std::fill_n(grad_bias.Data<float>(), grad_bias.numel(), 0.0f);
  if (input.numel() == 0) return;
  Scratch scratch;
  BatchNormArgs args{};
  const Layout layout(input, scratch);
  layout.SetSizes(input, args);
  args.input = layout.In(input);
  args.grad_output = layout.In(grad_output);
  args.weight = weight ? Contiguous(*weight, scratch).Data<const float>() : nullptr;
  args.eps = static_cast<float>(eps);
  args.order = order;
  args.training = training;
  args.mean = Contiguous(mean, scratch).Data<float>();
  args.var = Contiguous(var, scratch).Data<float>();
  args.grad_input = layout.Out(grad_input);
  args.grad_weight = grad_weight.Data<float>();
  args.grad_bias = grad_bias.Data<float>();
  BatchNormGradKernel(args);
  layout.PutBack(args.grad_input, grad_input);
}

}  // namespace

Specs InferBatchNorm(const TensorView& input, const std::optional<TensorView>& weight,
                     const std::optional<TensorView>& bias, double, Order) {
  CheckAffine("batch_norm", input, weight, bias);
  REPDL_CHECK(input.numel() > 0 || input.shape[1] == 0, ArgName{"batch_norm", "input"}, " of shape ", Name(input.shape),
              " has no value a channel to take the mean of");
  const IntList channels{input.shape[1]};
  return {{DType::kFloat32, input.shape}, {DType::kFloat32, channels}, {DType::kFloat32, channels}};
}

void BatchNorm(const TensorView& input, const std::optional<TensorView>& weight, const std::optional<TensorView>& bias,
               double eps, Order order, Out output, Out mean, Out var) {
  const FpEnvGuard guard;
  CheckOutputs("batch_norm", InferBatchNorm(input, weight, bias, eps, order), {&output, &mean, &var}, input);
  Run("batch_norm", input, weight, bias, eps, order, /*training=*/true, mean.Data<float>(), var.Data<float>(), output);
}

Specs InferBatchNormEval(const TensorView& input, const TensorView& mean, const TensorView& var,
                         const std::optional<TensorView>& weight, const std::optional<TensorView>& bias, double) {
  CheckAffine("batch_norm_eval", input, weight, bias);
  CheckFloat({"batch_norm_eval", "mean"}, mean, {input.shape[1]}, input);
  CheckFloat({"batch_norm_eval", "var"}, var, {input.shape[1]}, input);
  return {{DType::kFloat32, input.shape}};
}

void BatchNormEval(const TensorView& input, const TensorView& mean, const TensorView& var,
                   const std::optional<TensorView>& weight, const std::optional<TensorView>& bias, double eps,
                   Out output) {
  const FpEnvGuard guard;
  CheckOutputs("batch_norm_eval", InferBatchNormEval(input, mean, var, weight, bias, eps), {&output}, input);
  Scratch scratch;
  Run("batch_norm_eval", input, weight, bias, eps, Order::kBlocked, /*training=*/false,
      Contiguous(mean, scratch).Data<float>(), Contiguous(var, scratch).Data<float>(), output);
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
  CheckCpu("batch_norm_update", running);
  const auto keep = static_cast<float>(1.0 - momentum), take = static_cast<float>(momentum);
  const auto factor = static_cast<float>(scale);
  for (int64_t c = 0; c < running.shape[0]; ++c) {
    float& r = running.Data<float>()[c * running.strides[0]];
    r = r * keep + take * (value.Data<const float>()[c * value.strides[0]] * factor);
  }
}

}  // namespace repdl

REPDL_OPS(
    batch_norm,
    MakeOp<InferBatchNorm, BatchNorm>("batch_norm", "input, weight=None, bias=None, eps=1e-05, order='blocked'"),
    MakeOp<InferBatchNormEval, BatchNormEval>("batch_norm_eval", "input, mean, var, weight=None, bias=None, eps=1e-05"),
    MakeOp<InferBatchNormGrad, BatchNormGrad>("batch_norm_grad",
                                              "grad_output, input, mean, var, weight=None, eps=1e-05, order='blocked'"),
    MakeOp<InferBatchNormEvalGrad, BatchNormEvalGrad>(
        "batch_norm_eval_grad", "grad_output, input, mean, var, weight=None, eps=1e-05, order='blocked'"),
    MakeOp<InferBatchNormUpdate, BatchNormUpdate>("batch_norm_update", "running, value, momentum, scale"))

// SPDX-License-Identifier: MIT
#include "repdl/ops/margin_loss.h"

#include "base/check.h"
#include "base/dispatch.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "base/op_scratch.h"
#include "drivers/contiguous.h"
#include "drivers/indices.h"
#include "ops/margin_loss/margin_loss_kernel.h"

namespace repdl {
namespace {

void CheckTarget(std::string_view op, const TensorView& input, const TensorView& target, const IntList& target_shape) {
  const ArgName name{op, "target"};
  CheckDType(name, target, DType::kInt64);
  CheckSameDevice(name, target, input);
  CheckShape(name, target, target_shape);
}

void CheckScores(std::string_view op, const TensorView& input) {
  CheckFloat({op, "input"}, input, input);
  CheckRank({op, "input"}, input, 2, 2, "(n, c)");
}

void CheckMultiMargin(std::string_view op, const TensorView& input, const TensorView& target, int64_t p,
                      const std::optional<TensorView>& weight) {
  CheckScores(op, input);
  CheckTarget(op, input, target, {input.shape[0]});
  REPDL_CHECK(p == 1 || p == 2, ArgName{op, "p"}, " must be 1 or 2, got ", p);
  CheckFloat({op, "weight"}, weight, {input.shape[1]}, input);
}

void CheckGradOutput(std::string_view op, const TensorView& grad_output, const TensorView& input) {
  CheckFloat({op, "grad_output"}, grad_output, input);
  CheckShape({op, "grad_output"}, grad_output, {input.shape[0]});
}

/// Classes side by side, and -1 behind those of a row.
const int64_t* CheckedLabels(std::string_view op, const TensorView& target, int64_t classes, OpScratch& scratch) {
  const auto* const labels = Contiguous(target, scratch).Data<const int64_t>();
  if (!scratch.place().IsCpu()) return labels;  // nothing waits for a device: the kernels look at them
  for (int64_t i = 0; i < target.numel(); ++i) {
    REPDL_CHECK(labels[i] >= -1 && labels[i] < classes, ArgName{op, "target"}, " holds ", labels[i],
                ", which is neither -1 nor in [0, ", classes, ")");
  }
  return labels;
}

template <class T>
MarginLossArgs<T> MakeArgs(const TensorView& input, Order order, OpScratch& scratch) {
  MarginLossArgs<T> args{};
  args.rows = input.shape[0];
  args.classes = input.shape[1];
  args.input = Contiguous(input, scratch).Data<const T>();
  args.order = order;
  return args;
}

template <class T>
MarginLossArgs<T> MakeArgs(std::string_view op, const TensorView& input, const TensorView& target, int64_t p,
                           double margin, const std::optional<TensorView>& weight, Order order, OpScratch& scratch) {
  MarginLossArgs<T> args = MakeArgs<T>(input, order, scratch);
  args.target = CheckedIndices({op, "target"}, target, args.classes, scratch);
  args.is_squared = p == 2;
  args.margin = static_cast<T>(margin);
  args.weight = weight ? Contiguous(*weight, scratch).Data<const T>() : nullptr;
  return args;
}

template <class T>
void AddGradients(MarginLossArgs<T>& args, const TensorView& grad_output, double part, const TensorView& grad_input,
                  OpScratch& scratch) {
  args.grad_output = Contiguous(grad_output, scratch).Data<const T>();
  args.part = static_cast<T>(part);
  args.grad_input = grad_input.Data<T>();
}

}  // namespace

Specs InferMultiMargin(const TensorView& input, const TensorView& target, int64_t p, double,
                       const std::optional<TensorView>& weight, Order) {
  CheckMultiMargin("multi_margin", input, target, p, weight);
  return {{input.dtype, {input.shape[0]}}};
}

void MultiMargin(const TensorView& input, const TensorView& target, int64_t p, double margin,
                 const std::optional<TensorView>& weight, Order order, Out output) {
  const FpEnvGuard guard;
  CheckOutputs("multi_margin", InferMultiMargin(input, target, p, margin, weight, order), {&output}, input);
  const Place place = PlaceOf("multi_margin", input);
  if (output.numel() == 0) return;
  OpScratch scratch(place);
  DispatchReal(input.dtype, [&]<class T>() {
    MarginLossArgs<T> args = MakeArgs<T>("multi_margin", input, target, p, margin, weight, order, scratch);
    args.losses = output.Data<T>();
    MultiMarginKernel(place, args);
  });
}

Specs InferMultiMarginGrad(const TensorView& grad_output, const TensorView& input, const TensorView& target, int64_t p,
                           double, const std::optional<TensorView>& weight, double, Order) {
  CheckMultiMargin("multi_margin_grad", input, target, p, weight);
  CheckGradOutput("multi_margin_grad", grad_output, input);
  return {{input.dtype, input.shape}};
}

void MultiMarginGrad(const TensorView& grad_output, const TensorView& input, const TensorView& target, int64_t p,
                     double margin, const std::optional<TensorView>& weight, double part, Order order, Out grad_input) {
  const FpEnvGuard guard;
  CheckOutputs("multi_margin_grad", InferMultiMarginGrad(grad_output, input, target, p, margin, weight, part, order),
               {&grad_input}, input);
  const Place place = PlaceOf("multi_margin_grad", input);
  if (grad_input.numel() == 0) return;
  OpScratch scratch(place);
  DispatchReal(input.dtype, [&]<class T>() {
    MarginLossArgs<T> args = MakeArgs<T>("multi_margin_grad", input, target, p, margin, weight, order, scratch);
    AddGradients(args, grad_output, part, grad_input, scratch);
    MultiMarginGradKernel(place, args);
  });
}

Specs InferMultilabelMargin(const TensorView& input, const TensorView& target, Order) {
  CheckScores("multilabel_margin", input);
  CheckTarget("multilabel_margin", input, target, input.shape);
  return {{input.dtype, {input.shape[0]}}, {input.dtype, input.shape}};
}

void MultilabelMargin(const TensorView& input, const TensorView& target, Order order, Out output, Out is_target) {
  const FpEnvGuard guard;
  CheckOutputs("multilabel_margin", InferMultilabelMargin(input, target, order), {&output, &is_target}, input);
  const Place place = PlaceOf("multilabel_margin", input);
  if (output.numel() == 0) return;
  OpScratch scratch(place);
  DispatchReal(input.dtype, [&]<class T>() {
    MarginLossArgs<T> args = MakeArgs<T>(input, order, scratch);
    args.target = CheckedLabels("multilabel_margin", target, args.classes, scratch);
    args.losses = output.Data<T>();
    args.is_target = is_target.Data<T>();
    MultilabelMarginKernel(place, args);
  });
}

Specs InferMultilabelMarginGrad(const TensorView& grad_output, const TensorView& input, const TensorView& target,
                                double) {
  CheckScores("multilabel_margin_grad", input);
  CheckTarget("multilabel_margin_grad", input, target, input.shape);
  CheckGradOutput("multilabel_margin_grad", grad_output, input);
  return {{input.dtype, input.shape}};
}

void MultilabelMarginGrad(const TensorView& grad_output, const TensorView& input, const TensorView& target, double part,
                          Out grad_input) {
  const FpEnvGuard guard;
  CheckOutputs("multilabel_margin_grad", InferMultilabelMarginGrad(grad_output, input, target, part), {&grad_input},
               input);
  const Place place = PlaceOf("multilabel_margin_grad", input);
  if (grad_input.numel() == 0) return;
  OpScratch scratch(place);
  DispatchReal(input.dtype, [&]<class T>() {
    MarginLossArgs<T> args = MakeArgs<T>(input, Order::kBlocked, scratch);
    args.target = CheckedLabels("multilabel_margin_grad", target, args.classes, scratch);
    AddGradients(args, grad_output, part, grad_input, scratch);
    MultilabelMarginGradKernel(place, args);
  });
}

}  // namespace repdl

REPDL_OPS(margin_loss,
          MakeOp<InferMultiMargin, MultiMargin, MultiMarginKernel>(
              "multi_margin", "input, target, p=1, margin=1.0, weight=None, order='blocked'", kFloat32Or64),
          MakeOp<InferMultiMarginGrad, MultiMarginGrad, MultiMarginGradKernel>(
              "multi_margin_grad",
              "grad_output, input, target, p=1, margin=1.0, weight=None, part=1.0, order='blocked'", kFloat32Or64),
          MakeOp<InferMultilabelMargin, MultilabelMargin, MultilabelMarginKernel>("multilabel_margin",
                                                                                  "input, target, order='blocked'",
                                                                                  kFloat32Or64),
          MakeOp<InferMultilabelMarginGrad, MultilabelMarginGrad, MultilabelMarginGradKernel>(
              "multilabel_margin_grad", "grad_output, input, target, part=1.0", kFloat32Or64))

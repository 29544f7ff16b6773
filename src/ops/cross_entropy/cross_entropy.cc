// SPDX-License-Identifier: MIT
#include "repdl/ops/cross_entropy.h"

#include "base/check.h"
#include "base/dispatch.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "base/op_scratch.h"
#include "drivers/contiguous.h"
#include "ops/cross_entropy/cross_entropy_kernel.h"

namespace repdl {
namespace {

enum class Reduction { kNone, kMean, kSum };

Reduction ParseReduction(std::string_view op, std::string_view text) {
  if (text == "none") return Reduction::kNone;
  if (text == "mean") return Reduction::kMean;
  if (text == "sum") return Reduction::kSum;
  throw ValueError(Message(ArgName{op, "reduction"}, " must be 'none', 'mean' or 'sum', got '", text, "'"));
}

int ClassDim(const TensorView& input) { return input.rank() == 1 ? 0 : 1; }

/// The shape of the samples: input without its class dimension.
IntList SampleShape(const TensorView& input) {
  IntList shape;
  for (int i = 0; i < input.rank(); ++i) {
    if (i != ClassDim(input)) shape.Append(input.shape[i]);
  }
  return shape;
}

void Check(std::string_view op, const TensorView& input, const TensorView& target,
           const std::optional<TensorView>& weight, double label_smoothing) {
  CheckFloat({op, "input"}, input, input);
  CheckRank({op, "input"}, input, 1, kMaxRank, "(n, c), (n, c, …) or (c)");
  CheckSameDevice({op, "target"}, target, input);
  if (target.dtype == DType::kInt64) {
    CheckShape({op, "target"}, target, SampleShape(input));
  } else if (target.dtype == input.dtype) {
    CheckShape({op, "target"}, target, input.shape);
  } else {
    throw TypeError(Message(ArgName{op, "target"}, " must be int64 (classes) or ", Name(input.dtype),
                            " (probabilities), got ", Name(target.dtype)));
  }
  const int64_t num_classes = input.shape[ClassDim(input)];
  if (weight) {
    CheckFloat({op, "weight"}, *weight, input);
    CheckShape({op, "weight"}, *weight, {num_classes});
  }
  REPDL_CHECK(label_smoothing >= 0.0 && label_smoothing <= 1.0, ArgName{op, "label_smoothing"},
              " must be between 0 and 1, got ", label_smoothing);
}

/// The arguments that forward and gradient share. Targets and weight are copied if they are strided.
template <class T>
CrossEntropyArgs<T> MakeArgs(std::string_view op, const TensorView& input, const TensorView& target,
                             const std::optional<TensorView>& weight, int64_t ignore_index, double label_smoothing,
                             Order order, OpScratch& scratch) {
  CrossEntropyArgs<T> args{};
  const int class_dim = ClassDim(input);
  args.num_classes = input.shape[class_dim];
  args.num_samples = 1;
  for (int64_t size : SampleShape(input)) args.num_samples *= size;
  args.input = input.Data<const T>();
  args.class_stride = input.strides[class_dim];
  for (int i = 0; i < input.rank(); ++i) {
    if (i != class_dim) args.samples.Append(input.shape[i], input.strides[i]);
  }
  if (target.dtype == DType::kInt64) {
    args.classes = Contiguous(target, scratch).Data<const int64_t>();
    // On a device, for which nothing waits, the kernels look at them.
    for (int64_t i = 0; scratch.place().IsCpu() && i < args.num_samples; ++i) {
      const int64_t t = args.classes[i];
      REPDL_CHECK((t >= 0 && t < args.num_classes) || t == ignore_index, ArgName{op, "target"}, " holds the class ", t,
                  ", which is not in [0, ", args.num_classes, ") and not ignore_index");
    }
  } else {
    args.probabilities = target.Data<const T>();
    args.probability_stride = target.strides[class_dim];
    for (int i = 0; i < target.rank(); ++i) {
      if (i != class_dim) args.probability_samples.Append(target.shape[i], target.strides[i]);
    }
  }
  args.weight = weight ? Contiguous(*weight, scratch).Data<const T>() : nullptr;
  args.ignore_index = ignore_index;
  args.label_smoothing = label_smoothing;
  args.order = order;
  return args;
}

/// Whether samples have weights, by which a mean divides.
template <class T>
bool IsWeighted(const CrossEntropyArgs<T>& args) {
  return args.weight != nullptr && args.classes != nullptr;
}

/// What becomes of the losses of samples; without losses, the factor that a mean has.
template <class T>
LossTotalArgs<T> TotalOf(const CrossEntropyArgs<T>& args, const T* losses, Reduction how, bool is_weighted, T* total) {
  return {args.num_samples, args.num_classes,        args.order,  losses, args.classes, args.ignore_index,
          args.weight,      how == Reduction::kMean, is_weighted, total,  nullptr};
}

/// Of nll_loss and its gradient.
void CheckClasses(std::string_view op, const TensorView& input, const TensorView& target,
                  const std::optional<TensorView>& weight) {
  CheckDType({op, "target"}, target, DType::kInt64);
  Check(op, input, target, weight, /*label_smoothing=*/0.0);
}

/// Where the gradient of the loss comes from, and where that of the scores goes.
template <class T>
void SetGradients(const TensorView& grad_output, Reduction how, const TensorView& grad_input, OpScratch& scratch,
                  CrossEntropyArgs<T>& args) {
  args.grad_output = Contiguous(grad_output, scratch).Data<const T>();
  args.grad_output_stride = how == Reduction::kNone ? 1 : 0;
  args.grad_input = grad_input.Data<T>();
  const int class_dim = ClassDim(grad_input);
  args.grad_stride = grad_input.strides[class_dim];
  for (int i = 0; i < grad_input.rank(); ++i) {
    if (i != class_dim) args.grad_samples.Append(grad_input.shape[i], grad_input.strides[i]);
  }
}

}  // namespace

Specs InferCrossEntropy(const TensorView& input, const TensorView& target, const std::optional<TensorView>& weight,
                        int64_t, std::string_view reduction, double label_smoothing, Order) {
  Check("cross_entropy", input, target, weight, label_smoothing);
  const bool none = ParseReduction("cross_entropy", reduction) == Reduction::kNone;
  return {{input.dtype, none ? SampleShape(input) : IntList{}}};
}

void CrossEntropy(const TensorView& input, const TensorView& target, const std::optional<TensorView>& weight,
                  int64_t ignore_index, std::string_view reduction, double label_smoothing, Order order, Out loss) {
  const FpEnvGuard guard;
  CheckOutputs("cross_entropy",
               InferCrossEntropy(input, target, weight, ignore_index, reduction, label_smoothing, order), {&loss},
               input);
  const Place place = PlaceOf("cross_entropy", input);
  DispatchReal(input.dtype, [&]<class T>() {
    OpScratch scratch(place);
    CrossEntropyArgs<T> args =
        MakeArgs<T>("cross_entropy", input, target, weight, ignore_index, label_smoothing, order, scratch);
    const Reduction how = ParseReduction("cross_entropy", reduction);
    args.losses = how == Reduction::kNone ? loss.Data<T>() : scratch.Get<T>(args.num_samples);
    if (args.num_samples > 0) CrossEntropyKernel(place, args);
    if (how == Reduction::kNone) return;
    LossTotalKernel(place, TotalOf<T>(args, args.losses, how, IsWeighted(args), loss.Data<T>()));
  });
}

Specs InferCrossEntropyGrad(const TensorView& grad_output, const TensorView& input, const TensorView& target,
                            const std::optional<TensorView>& weight, int64_t, std::string_view reduction,
                            double label_smoothing, Order) {
  Check("cross_entropy_grad", input, target, weight, label_smoothing);
  const bool none = ParseReduction("cross_entropy_grad", reduction) == Reduction::kNone;
  CheckFloat({"cross_entropy_grad", "grad_output"}, grad_output, input);
  CheckShape({"cross_entropy_grad", "grad_output"}, grad_output, none ? SampleShape(input) : IntList{});
  return {{input.dtype, input.shape}};
}

void CrossEntropyGrad(const TensorView& grad_output, const TensorView& input, const TensorView& target,
                      const std::optional<TensorView>& weight, int64_t ignore_index, std::string_view reduction,
                      double label_smoothing, Order order, Out grad_input) {
  const FpEnvGuard guard;
  CheckOutputs(
      "cross_entropy_grad",
      InferCrossEntropyGrad(grad_output, input, target, weight, ignore_index, reduction, label_smoothing, order),
      {&grad_input}, input);
  const Place place = PlaceOf("cross_entropy_grad", input);
  if (grad_input.numel() == 0) return;
  DispatchReal(input.dtype, [&]<class T>() {
    OpScratch scratch(place);
    CrossEntropyArgs<T> args =
        MakeArgs<T>("cross_entropy_grad", input, target, weight, ignore_index, label_smoothing, order, scratch);
    const Reduction how = ParseReduction("cross_entropy_grad", reduction);
    if (how == Reduction::kMean) {
      T* const factor = scratch.Get<T>(1);
      LossTotalKernel(place, TotalOf<T>(args, nullptr, how, IsWeighted(args), factor));
      args.factor = factor;
    }
    SetGradients(grad_output, how, grad_input, scratch, args);
    CrossEntropyGradKernel(place, args);
  });
}

Specs InferNllLoss(const TensorView& input, const TensorView& target, const std::optional<TensorView>& weight,
                   std::string_view reduction, int64_t, Order) {
  CheckClasses("nll_loss", input, target, weight);
  const bool none = ParseReduction("nll_loss", reduction) == Reduction::kNone;
  return {{input.dtype, none ? SampleShape(input) : IntList{}}, {input.dtype, {}}};
}

void NllLoss(const TensorView& input, const TensorView& target, const std::optional<TensorView>& weight,
             std::string_view reduction, int64_t ignore_index, Order order, Out loss, Out total_weight) {
  const FpEnvGuard guard;
  CheckOutputs("nll_loss", InferNllLoss(input, target, weight, reduction, ignore_index, order), {&loss, &total_weight},
               input);
  const Place place = PlaceOf("nll_loss", input);
  DispatchReal(input.dtype, [&]<class T>() {
    OpScratch scratch(place);
    CrossEntropyArgs<T> args = MakeArgs<T>("nll_loss", input, target, weight, ignore_index, 0.0, order, scratch);
    const Reduction how = ParseReduction("nll_loss", reduction);
    args.losses = how == Reduction::kNone ? loss.Data<T>() : scratch.Get<T>(args.num_samples);
    if (args.num_samples > 0) NllLossKernel(place, args);
    if (how == Reduction::kNone) return FillWithZero(place, total_weight);
    LossTotalArgs<T> total = TotalOf<T>(args, args.losses, how, /*is_weighted=*/true, loss.Data<T>());
    total.weight_sum = total_weight.Data<T>();
    LossTotalKernel(place, total);
  });
}

Specs InferNllLossGrad(const TensorView& grad_output, const TensorView& input, const TensorView& target,
                       const std::optional<TensorView>& weight, std::string_view reduction, int64_t,
                       const TensorView& total_weight) {
  CheckClasses("nll_loss_grad", input, target, weight);
  const bool none = ParseReduction("nll_loss_grad", reduction) == Reduction::kNone;
  CheckFloat({"nll_loss_grad", "grad_output"}, grad_output, input);
  CheckShape({"nll_loss_grad", "grad_output"}, grad_output, none ? SampleShape(input) : IntList{});
  CheckFloat({"nll_loss_grad", "total_weight"}, total_weight, input);
  CheckShape({"nll_loss_grad", "total_weight"}, total_weight, {});
  return {{input.dtype, input.shape}};
}

void NllLossGrad(const TensorView& grad_output, const TensorView& input, const TensorView& target,
                 const std::optional<TensorView>& weight, std::string_view reduction, int64_t ignore_index,
                 const TensorView& total_weight, Out grad_input) {
  const FpEnvGuard guard;
  CheckOutputs("nll_loss_grad",
               InferNllLossGrad(grad_output, input, target, weight, reduction, ignore_index, total_weight),
               {&grad_input}, input);
  const Place place = PlaceOf("nll_loss_grad", input);
  if (grad_input.numel() == 0) return;
  DispatchReal(input.dtype, [&]<class T>() {
    OpScratch scratch(place);
    CrossEntropyArgs<T> args =
        MakeArgs<T>("nll_loss_grad", input, target, weight, ignore_index, 0.0, Order::kBlocked, scratch);
    const Reduction how = ParseReduction("nll_loss_grad", reduction);
    if (how == Reduction::kMean) args.factor = total_weight.Data<const T>();
    SetGradients(grad_output, how, grad_input, scratch, args);
    NllLossGradKernel(place, args);
  });
}

}  // namespace repdl

REPDL_OPS(cross_entropy,
          MakeOp<InferCrossEntropy, CrossEntropy, CrossEntropyKernel, LossTotalKernel>(
              "cross_entropy",
              "input, target, weight=None, ignore_index=-100, reduction='mean', label_smoothing=0.0, "
              "order='blocked'",
              kFloat32Or64),
          MakeOp<InferCrossEntropyGrad, CrossEntropyGrad, CrossEntropyGradKernel, LossTotalKernel>(
              "cross_entropy_grad",
              "grad_output, input, target, weight=None, ignore_index=-100, reduction='mean', "
              "label_smoothing=0.0, order='blocked'",
              kFloat32Or64),
          MakeOp<InferNllLoss, NllLoss, NllLossKernel, LossTotalKernel>(
              "nll_loss",
              "input, target, weight=None, reduction='mean', ignore_index=-100, "
              "order='blocked'",
              kFloat32Or64),
          MakeOp<InferNllLossGrad, NllLossGrad, NllLossGradKernel>(
              "nll_loss_grad",
              "grad_output, input, target, weight, reduction, ignore_index, "
              "total_weight",
              kFloat32Or64))

// SPDX-License-Identifier: MIT
#include "repdl/ops/cross_entropy.h"

#include "base/check.h"
#include "base/dispatch.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "base/op_scratch.h"
#include "drivers/contiguous.h"
#include "ops/cross_entropy/cross_entropy_kernel.h"
#include "ops/sum/sum_kernel.h"

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
  CheckCpu(scratch.place());  // classes are read here, and sums divided
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
    for (int64_t i = 0; i < args.num_samples; ++i) {
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

template <class T>
T SumOf(const Place& place, const T* x, int64_t n, Order order) {
  T sum = 0;
  ReduceArgs args{kDTypeOf<T>, x, {}, {}, order, {}, &sum};
  args.reduced.Append(n, 1);
  SumKernel(place, args);
  return sum;
}

/// float32(1 / M), M the samples that count.
template <class T>
T MeanFactor(const CrossEntropyArgs<T>& args) {
  int64_t count = args.num_samples;
  if (args.classes != nullptr) {
    for (int64_t i = 0; i < args.num_samples; ++i) count -= args.classes[i] == args.ignore_index ? 1 : 0;
  }
  return static_cast<T>(1.0 / static_cast<double>(count));
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
    const bool weighted_mean = how == Reduction::kMean && weight && args.classes != nullptr;
    args.losses = how == Reduction::kNone ? loss.Data<T>() : scratch.Get<T>(args.num_samples);
    if (weighted_mean) args.sample_weights = scratch.Get<T>(args.num_samples);
    if (args.num_samples > 0) CrossEntropyKernel(place, args);
    if (how == Reduction::kNone) return;
    T& total = *loss.Data<T>();
    total = SumOf(place, args.losses, args.num_samples, order);
    if (weighted_mean) {
      total = total / SumOf(place, args.sample_weights, args.num_samples, order);
    } else if (how == Reduction::kMean) {
      total = total * MeanFactor(args);
    }
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
    args.factor = T{1};
    if (how == Reduction::kMean && weight && args.classes != nullptr) {
      T* const weights = scratch.Get<T>(args.num_samples);
      for (int64_t i = 0; i < args.num_samples; ++i) {
        weights[i] = args.classes[i] == ignore_index ? T{0} : args.weight[args.classes[i]];
      }
      args.factor = T{1} / SumOf(place, weights, args.num_samples, order);
    } else if (how == Reduction::kMean) {
      args.factor = MeanFactor(args);
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
    args.sample_weights = scratch.Get<T>(args.num_samples);
    NllLossKernel(place, args);
    T& total = *total_weight.Data<T>();
    total = how == Reduction::kNone ? T{0} : SumOf(place, args.sample_weights, args.num_samples, order);
    if (how == Reduction::kNone) return;
    const T sum = SumOf(place, args.losses, args.num_samples, order);
    *loss.Data<T>() = how == Reduction::kMean ? sum / total : sum;
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
    args.factor = how == Reduction::kMean ? *total_weight.Data<const T>() : T{1};
    SetGradients(grad_output, how, grad_input, scratch, args);
    NllLossGradKernel(place, args);
  });
}

}  // namespace repdl

REPDL_OPS(cross_entropy,
          MakeOp<InferCrossEntropy, CrossEntropy, CrossEntropyKernel, SumKernel>(
              "cross_entropy",
              "input, target, weight=None, ignore_index=-100, reduction='mean', label_smoothing=0.0, "
              "order='blocked'",
              kFloat32Or64),
          MakeOp<InferCrossEntropyGrad, CrossEntropyGrad, CrossEntropyGradKernel, SumKernel>(
              "cross_entropy_grad",
              "grad_output, input, target, weight=None, ignore_index=-100, reduction='mean', "
              "label_smoothing=0.0, order='blocked'",
              kFloat32Or64),
          MakeOp<InferNllLoss, NllLoss, NllLossKernel, SumKernel>(
              "nll_loss",
              "input, target, weight=None, reduction='mean', ignore_index=-100, "
              "order='blocked'",
              kFloat32Or64),
          MakeOp<InferNllLossGrad, NllLossGrad, NllLossGradKernel>(
              "nll_loss_grad",
              "grad_output, input, target, weight, reduction, ignore_index, "
              "total_weight",
              kFloat32Or64))

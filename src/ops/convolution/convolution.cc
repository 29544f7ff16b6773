// SPDX-License-Identifier: MIT
#include "repdl/ops/convolution.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/check.h"
#include "base/dispatch.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "base/op_scratch.h"
#include "base/parallel.h"
#include "drivers/contiguous.h"
#include "drivers/unsigned.h"
#include "ops/convolution/convolution_kernel.h"
#include "ops/convolution/convolution_shapes.h"
#include "ops/convolution/integer_convolution_kernel.h"
#include "ops/mm/mm_kernel.h"

namespace repdl {
namespace {

ConvSettings Of(const PerAxis& stride, const PerAxis& padding, const PerAxis& dilation, bool transposed,
                const PerAxis& output_padding, int64_t groups) {
  return {stride, padding, dilation, groups, transposed, output_padding};
}

ConvSettings OfPlane(IntPair stride, IntPair padding, int64_t groups, IntPair dilation) {
  return {.stride = stride, .padding = padding, .dilation = dilation, .groups = groups, .rank = 2};
}

/// The dimensions from the outermost to the innermost in memory, where channels, dimension 1, are last.
IntList ChannelsLast(int rank) {
  IntList order{0};
  for (int dim = 2; dim < rank; ++dim) order.Append(dim);
  order.Append(1);
  return order;
}

TensorView WithChannelsLast(const TensorView& tensor) { return Permuted(tensor, ChannelsLast(tensor.rank())); }

/// Whether there is a group for each channel, and kernels take such ones where they lie side by side.
bool IsDepthwise(const ConvSizes& sizes) {
  constexpr int64_t kMinChannels = 16;  // the lanes of the widest vectors
  return sizes.c == 1 && sizes.o == 1 && sizes.groups >= kMinChannels && sizes.input[2] <= kMaxHeldLine;
}

/// An operand as a kernel reads it: itself where it is row-major, or has channels last and the kernel takes that; else a
/// row-major copy.
struct Source {
  TensorView view;
  bool channels_last;

  Source(const TensorView& tensor, bool takes_channels_last, OpScratch& scratch)
      : view(tensor),
        channels_last(!tensor.IsContiguous() && takes_channels_last && WithChannelsLast(tensor).IsContiguous()) {
    if (!channels_last) view = Contiguous(tensor, scratch);
  }
};

/// A result as a kernel writes it: itself, or a row-major one in scratch memory, from which Finish copies.
class Goal {
 public:
  Goal(const TensorView& tensor, bool takes_channels_last, OpScratch& scratch)
      : view(tensor),
        channels_last(!tensor.IsContiguous() && takes_channels_last),
        tensor_(tensor),
        place_(scratch.place()) {
    if (!tensor.IsContiguous() && !channels_last) view = scratch.New(tensor.dtype, tensor.shape);
  }

  void Finish() const {
    if (view.data != tensor_.data) CopyElements(place_, WithChannelsLast(view), WithChannelsLast(tensor_));
  }

  TensorView view;
  bool channels_last;

 private:
  const TensorView& tensor_;
  Place place_;
};

/// Results are row-major, or have their channels last.
void CheckResult(std::string_view op, const Specs& specs, const TensorView& result, const TensorView& like) {
  TensorView checked = result;
  if (result.shape == specs.spec[0].shape && WithChannelsLast(result).IsContiguous()) {
    checked.strides = ContiguousStrides(result.shape);
  }
  CheckOutputs(op, specs, {&checked}, like);
}

/// Whether absent terms need a mask, and may not be products of a zero, which leave a chain as it is unless the other
/// factor is not finite or the chain has become -0, by a product that underflows.
template <class T>
bool NeedsMask(const Place& place, const ConvArgs<T>& args, int64_t num_other, int64_t num_source) {
  // Nothing waits for an answer from a device, whose kernels skip terms at little cost.
  if (!args.plan.masked || !place.IsCpu()) return args.plan.masked;
  bool needs_mask = true;
  ConvRangeKernel(place, ConvRangeArgs<T>{args.other, num_other, args.source, num_source, &needs_mask});
  return needs_mask;
}

/// run() with what absent terms need: on the CPU, if `tries_zeros`, with zeros in their place at first, unless the results
/// leave a doubt; else needs_mask() says whether a mask.
template <class T, class Ask, class Run>
void WithAbsentTerms(const Place& place, ConvArgs<T>& args, bool tries_zeros, const Ask& needs_mask, const Run& run) {
  tries_zeros = tries_zeros && place.IsCpu() && args.plan.masked;
  if (tries_zeros) {
    bool sure = false;
    args.plan.masked = false, args.sure = &sure;
    run();
    args.plan.masked = true, args.sure = nullptr;
    if (sure) return;
  }
  args.plan.masked = args.plan.masked && needs_mask();
  if (!tries_zeros || args.plan.masked) run();
}

/// What a gradient by the input is made of, in the type of its numbers.
template <class T>
class ByInput {
 public:
  ByInput(const Place& place, const ConvSizes& sizes, const TensorView& weight, const TensorView& grad_output,
          const std::optional<TensorView>& bias, Order order, const TensorView& result)
      : place_(place),
        sizes_(sizes),
        order_(order),
        way_(ChooseWay()),
        takes_channels_last_(way_ == Way::kEachPhase ||
                             (way_ == Way::kOneByOne && place.IsCpu() && IsDepthwise(sizes))),
        weight_(Contiguous(weight, scratch_)),
        grad_output_(grad_output, takes_channels_last_, scratch_),
        bias_(bias ? Contiguous(*bias, scratch_).Data<const T>() : nullptr),
        result_(result, takes_channels_last_, scratch_) {
    // A product of matrices needs no copies.
    if (way_ == Way::kEachPhase && NumPlaces(sizes.kernel) == 1 && !grad_output_.channels_last &&
        !result_.channels_last) {
      way_ = Way::kOneByOne;
    }
  }

  void Run() {
    Compute();
    result_.Finish();
  }

 private:
  enum class Way { kPatches, kTogether, kEachPhase, kOneByOne };

  Way ChooseWay() const {
    if (IsPatches()) return Way::kPatches;
    if (!place_.IsCpu()) return Way::kOneByOne;
    if (IsDepthwise(sizes_)) return NumPlaces(sizes_.stride) > 1 ? Way::kEachPhase : Way::kOneByOne;
    if (ConvPhases::Suit(sizes_, ChainOfTerms())) return Way::kTogether;
    return sizes_.o > 1 ? Way::kEachPhase : Way::kOneByOne;
  }

  void Compute() {
    if (way_ == Way::kPatches) {
      for (int axis = 0; axis < kMaxAxes; ++axis) {
        if (sizes_.output[axis] * sizes_.kernel[axis] < sizes_.input[axis]) {  // places behind the boxes
          ConvSizes all = sizes_;
          all.stride = {1, 1, 1};
          FillPositions(ConvPlan::GradInput(all, {0, 0, 0}));
          break;
        }
      }
      return ConvPatchesKernel(place_, Args(weight_));
    }
    std::optional<bool> needs_mask;
    if (way_ == Way::kTogether) {
      if (RunTogether(needs_mask)) return;
      way_ = sizes_.o > 1 ? Way::kEachPhase : Way::kOneByOne;
    }
    std::vector<ConvPlan> plans;
    const Axes& s = sizes_.stride;
    Axes phase;
    for (phase[0] = 0; phase[0] < std::min(s[0], sizes_.input[0]); ++phase[0]) {
      for (phase[1] = 0; phase[1] < std::min(s[1], sizes_.input[1]); ++phase[1]) {
        for (phase[2] = 0; phase[2] < std::min(s[2], sizes_.input[2]); ++phase[2]) {
          const ConvPlan plan = ConvPlan::GradInput(sizes_, phase);
          plan.num_taps() == 0 ? FillPositions(plan) : plans.push_back(plan);
        }
      }
    }
    if (way_ == Way::kEachPhase) return RunEach(plans, needs_mask);
    for (const ConvPlan& plan : plans) RunPhase(plan, needs_mask);
  }

  ConvArgs<T> Args(const TensorView& weight) const {
    return {.sizes = sizes_,
            .plan = {},
            .source = grad_output_.view.Data<const T>(),
            .other = weight.Data<const T>(),
            .bias = bias_,
            .result = result_.view.Data<T>(),
            .order = order_,
            .source_last = grad_output_.channels_last,
            .result_last = result_.channels_last};
  }

  int64_t ChainOfTerms() const { return ChainLength(order_, sizes_.o * NumPlaces(sizes_.kernel)); }

  /// Returns whether the zeros in the place of terms do not show.
  bool RunTogether(std::optional<bool>& needs_mask) {
    OpScratch scratch(place_);
    const ConvPhases phases(sizes_, ChainOfTerms());
    const int64_t taps = NumPlaces(sizes_.kernel), size = phases.count() * phases.num_terms();
    const T* const weight = weight_.Data<const T>();
    T* const rows = scratch.Get<T>(sizes_.groups * sizes_.c * size);
    ParallelRanges(sizes_.groups * sizes_.c, 4096 / size + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i / sizes_.c * sizes_.o * sizes_.c + i % sizes_.c;
        phases.PutWeights(weight + first * taps, sizes_.c * taps, rows + i * size);
      }
    });
    bool sure = false;
    ConvPhasesArgs<T> args{Args(weight_), &phases};
    args.conv.other = rows, args.conv.plan = phases.plan;
    args.conv.plan.masked = false, args.conv.sure = &sure;
    ConvPhasesKernel(place_, args);
    if (!sure) needs_mask = MayNeedMask(phases.plan);
    return sure || !*needs_mask;
  }

  bool MayNeedMask(const ConvPlan& plan) const {
    ConvArgs<T> args = Args(weight_);
    args.plan = plan;
    args.plan.masked = true;
    return NeedsMask(place_, args, weight_.numel(), grad_output_.view.numel());
  }

  /// All plans at a time: with zeros in the place of absent terms at first, unless a mask is known to be needed.
  void RunEach(std::vector<ConvPlan>& plans, std::optional<bool>& needs_mask) {
    if (plans.empty()) return;
    std::vector<bool> masked;
    bool any_masked = false, sure = true;
    for (ConvPlan& plan : plans) {
      masked.push_back(plan.masked);
      any_masked = any_masked || plan.masked;
      plan.masked = plan.masked && needs_mask.value_or(false);
    }
    ConvEachPhaseArgs<T> args{Args(weight_), plans.data(), static_cast<int64_t>(plans.size())};
    if (any_masked && !needs_mask) args.conv.sure = &sure;
    ConvEachPhaseKernel(place_, args);
    if (sure || !MayNeedMask(plans.front())) return;
    for (size_t i = 0; i < plans.size(); ++i) plans[i].masked = masked[i];
    args.conv.sure = nullptr;
    ConvEachPhaseKernel(place_, args);
  }

  void RunPhase(const ConvPlan& plan, std::optional<bool>& needs_mask) {
    OpScratch scratch(place_);
    TensorView taps = weight_;
    taps.shape = {sizes_.groups, sizes_.o, sizes_.c, sizes_.kernel[0], sizes_.kernel[1], sizes_.kernel[2]};
    taps.strides = ContiguousStrides(taps.shape);
    for (int axis = 0; axis < kMaxAxes; ++axis) TakePlaces(plan.kernel[axis], 3 + axis, taps);
    // The sum runs over output channels and taps.
    ConvArgs<T> args = Args(Contiguous(Permuted(taps, {0, 2, 1, 3, 4, 5}), scratch));
    args.plan = plan;
    const auto may_need_mask = [&] {
      if (!needs_mask) needs_mask = MayNeedMask(plan);
      return *needs_mask;
    };
    WithAbsentTerms(place_, args, !needs_mask, may_need_mask, [&] { ConvGradInputKernel(place_, args); });
  }

  /// Whether each place of the result has at most one tap, those with one lie in boxes that tile it from its beginning,
  /// and the chains of all end at the same output channels.
  bool IsPatches() const {
    for (int axis = 0; axis < kMaxAxes; ++axis) {
      const bool apart = sizes_.stride[axis] == sizes_.kernel[axis] || sizes_.output[axis] == 1;
      if (!apart || sizes_.padding[axis] != 0 || (sizes_.dilation[axis] != 1 && sizes_.kernel[axis] != 1)) return false;
      if (sizes_.output[axis] * sizes_.kernel[axis] > sizes_.input[axis]) return false;
    }
    const int64_t taps = NumPlaces(sizes_.kernel), num_k = sizes_.o * taps, chunk = ChainLength(order_, num_k);
    return taps > 1 && (num_k <= chunk || chunk % taps == 0);
  }

  /// +0 at the positions of a plan, plus the bias.
  void FillPositions(const ConvPlan& plan) {
    if (!place_.IsCpu()) {
      ConvArgs<T> args = Args(weight_);
      args.plan = plan;
      args.plan.kernel = {};  // a product of no terms
      return ConvGradInputKernel(place_, args);
    }
    const int64_t planes = sizes_.groups * sizes_.c, place_step = result_.channels_last ? planes : 1;
    for (int64_t plane = 0; plane < sizes_.n * planes; ++plane) {
      const int64_t image = plane / planes, channel = plane % planes;
      const T value = bias_ == nullptr ? T{0} : T{0} + bias_[channel];
      T* const first = result_.view.Data<T>() + image * planes * plan.result_size +
                       channel * (result_.channels_last ? 1 : plan.result_size) + plan.first_result * place_step;
      for (int64_t line = 0; line < plan.num_lines(); ++line) {
        const Axes at = plan.FirstOfLine(line);
        T* const to = first + (at[0] * plan.result_step[0] + at[1] * plan.result_step[1]) * place_step;
        for (int64_t col = 0; col < plan.positions[2]; ++col) to[col * plan.result_step[2] * place_step] = value;
      }
    }
  }

  Place place_;
  OpScratch scratch_{place_};
  const ConvSizes& sizes_;
  Order order_;
  Way way_;
  bool takes_channels_last_;
  TensorView weight_;
  Source grad_output_;
  const T* bias_;
  Goal result_;
};

void RunByInput(const Place& place, const ConvSizes& sizes, const TensorView& weight, const TensorView& grad_output,
                const std::optional<TensorView>& bias, Order order, const TensorView& result) {
  if (weight.numel() == 0 && !bias) return FillWithZero(place, result);
  DispatchReal(weight.dtype,
               [&]<class T>() { ByInput<T>(place, sizes, weight, grad_output, bias, order, result).Run(); });
}

void RunForward(const Place& place, const ConvSizes& sizes, const TensorView& input, const TensorView& weight,
                const std::optional<TensorView>& bias, Order order, const TensorView& output) {
  OpScratch scratch(place);
  // Other single channels are read plane by plane.
  const bool takes_channels_last = place.IsCpu() && (sizes.c > 1 || IsDepthwise(sizes));
  const Source source(input, takes_channels_last, scratch);
  const Goal goal(output, takes_channels_last, scratch);
  DispatchReal(input.dtype, [&]<class T>() {
    ConvArgs<T> args{.sizes = sizes,
                     .plan = ConvPlan::Forward(sizes),
                     .source = source.view.Data<const T>(),
                     .other = Contiguous(weight, scratch).Data<const T>(),
                     .bias = bias ? Contiguous(*bias, scratch).Data<const T>() : nullptr,
                     .result = goal.view.Data<T>(),
                     .order = order,
                     .source_last = source.channels_last,
                     .result_last = goal.channels_last};
    const auto needs_mask = [&] { return NeedsMask(place, args, weight.numel(), input.numel()); };
    WithAbsentTerms(place, args, true, needs_mask, [&] { ConvKernel(place, args); });
  });
  goal.Finish();
}

void RunByKernel(const Place& place, const ConvSizes& sizes, const TensorView& input, const TensorView& grad_output,
                 Order order, const TensorView& grad_weight) {
  if (input.numel() == 0) return FillWithZero(place, grad_weight);
  OpScratch scratch(place);
  // Other single channels are read plane by plane.
  const bool takes_channels_last = place.IsCpu() && (sizes.c > 1 || sizes.o > 1 || IsDepthwise(sizes));
  const Source source(input, takes_channels_last, scratch), grad(grad_output, takes_channels_last, scratch);
  const Goal goal(grad_weight, false, scratch);
  DispatchReal(input.dtype, [&]<class T>() {
    ConvArgs<T> args{.sizes = sizes,
                     .plan = ConvPlan::Forward(sizes),
                     .source = source.view.Data<const T>(),
                     .other = grad.view.Data<const T>(),
                     .bias = nullptr,
                     .result = goal.view.Data<T>(),
                     .order = order,
                     .source_last = source.channels_last,
                     .result_last = grad.channels_last};
    const bool few_results = grad_weight.numel() <= grad_output.numel() + input.numel();
    const auto needs_mask = [&] { return NeedsMask(place, args, grad_output.numel(), input.numel()); };
    WithAbsentTerms(place, args, few_results, needs_mask, [&] { ConvGradKernelKernel(place, args); });
  });
  goal.Finish();
}

Specs InferOutput(std::string_view op, const TensorView& input, const TensorView& weight,
                  const std::optional<TensorView>& bias, const ConvSettings& settings) {
  CheckFloat({op, "input"}, input, input);
  CheckFloat({op, "weight"}, weight, input);
  const ConvShapes shapes(op, input.shape, weight.shape, settings);
  CheckFloat({op, "bias"}, bias, {shapes.output_channels()}, input);
  return {{input.dtype, shapes.Output()}};
}

void RunOutput(std::string_view op, const TensorView& input, const TensorView& weight,
               const std::optional<TensorView>& bias, const ConvSettings& settings, Order order,
               const TensorView& output) {
  const FpEnvGuard guard;
  CheckResult(op, InferOutput(op, input, weight, bias, settings), output, input);
  const Place place = PlaceOf(op, input);
  if (output.numel() == 0) return;
  const ConvShapes shapes(op, input.shape, weight.shape, settings);
  settings.transposed ? RunByInput(place, shapes.sizes(), weight, input, bias, order, output)
                      : RunForward(place, shapes.sizes(), input, weight, bias, order, output);
}

Specs InferGradInput(std::string_view op, const IntList& input_shape, const TensorView& weight,
                     const TensorView& grad_output, const ConvSettings& settings) {
  CheckFloat({op, "weight"}, weight, weight);
  CheckFloat({op, "grad_output"}, grad_output, weight);
  CheckShape({op, "grad_output"}, grad_output, ConvShapes(op, input_shape, weight.shape, settings).Output());
  return {{weight.dtype, input_shape}};
}

void RunGradInput(std::string_view op, const IntList& input_shape, const TensorView& weight,
                  const TensorView& grad_output, const ConvSettings& settings, Order order,
                  const TensorView& grad_input) {
  const FpEnvGuard guard;
  CheckResult(op, InferGradInput(op, input_shape, weight, grad_output, settings), grad_input, weight);
  const Place place = PlaceOf(op, weight);
  if (grad_input.numel() == 0) return;
  const ConvShapes shapes(op, input_shape, weight.shape, settings);
  settings.transposed ? RunForward(place, shapes.sizes(), grad_output, weight, std::nullopt, order, grad_input)
                      : RunByInput(place, shapes.sizes(), weight, grad_output, std::nullopt, order, grad_input);
}

Specs InferGradKernel(std::string_view op, const TensorView& input, const IntList& weight_shape,
                      const TensorView& grad_output, const ConvSettings& settings) {
  CheckFloat({op, "input"}, input, input);
  CheckFloat({op, "grad_output"}, grad_output, input);
  CheckShape({op, "grad_output"}, grad_output, ConvShapes(op, input.shape, weight_shape, settings).Output());
  return {{input.dtype, weight_shape}};
}

void RunGradKernel(std::string_view op, const TensorView& input, const IntList& weight_shape,
                   const TensorView& grad_output, const ConvSettings& settings, Order order,
                   const TensorView& grad_weight) {
  const FpEnvGuard guard;
  CheckResult(op, InferGradKernel(op, input, weight_shape, grad_output, settings), grad_weight, input);
  const Place place = PlaceOf(op, input);
  if (grad_weight.numel() == 0) return;
  const ConvShapes shapes(op, input.shape, weight_shape, settings);
  settings.transposed ? RunByKernel(place, shapes.sizes(), grad_output, input, order, grad_weight)
                      : RunByKernel(place, shapes.sizes(), input, grad_output, order, grad_weight);
}

}  // namespace

Specs InferConvolution(const TensorView& input, const TensorView& weight, const std::optional<TensorView>& bias,
                       const PerAxis& stride, const PerAxis& padding, const PerAxis& dilation, bool transposed,
                       const PerAxis& output_padding, int64_t groups, Order) {
  return InferOutput("convolution", input, weight, bias,
                     Of(stride, padding, dilation, transposed, output_padding, groups));
}

void Convolution(const TensorView& input, const TensorView& weight, const std::optional<TensorView>& bias,
                 const PerAxis& stride, const PerAxis& padding, const PerAxis& dilation, bool transposed,
                 const PerAxis& output_padding, int64_t groups, Order order, Out output) {
  RunOutput("convolution", input, weight, bias, Of(stride, padding, dilation, transposed, output_padding, groups),
            order, output);
}

Specs InferConvolutionGradInput(const IntList& input_shape, const TensorView& weight, const TensorView& grad_output,
                                const PerAxis& stride, const PerAxis& padding, const PerAxis& dilation, bool transposed,
                                const PerAxis& output_padding, int64_t groups, Order) {
  return InferGradInput("convolution_grad_input", input_shape, weight, grad_output,
                        Of(stride, padding, dilation, transposed, output_padding, groups));
}

void ConvolutionGradInput(const IntList& input_shape, const TensorView& weight, const TensorView& grad_output,
                          const PerAxis& stride, const PerAxis& padding, const PerAxis& dilation, bool transposed,
                          const PerAxis& output_padding, int64_t groups, Order order, Out grad_input) {
  RunGradInput("convolution_grad_input", input_shape, weight, grad_output,
               Of(stride, padding, dilation, transposed, output_padding, groups), order, grad_input);
}

Specs InferConvolutionGradKernel(const TensorView& input, const IntList& weight_shape, const TensorView& grad_output,
                                 const PerAxis& stride, const PerAxis& padding, const PerAxis& dilation,
                                 bool transposed, const PerAxis& output_padding, int64_t groups, Order) {
  return InferGradKernel("convolution_grad_kernel", input, weight_shape, grad_output,
                         Of(stride, padding, dilation, transposed, output_padding, groups));
}

void ConvolutionGradKernel(const TensorView& input, const IntList& weight_shape, const TensorView& grad_output,
                           const PerAxis& stride, const PerAxis& padding, const PerAxis& dilation, bool transposed,
                           const PerAxis& output_padding, int64_t groups, Order order, Out grad_weight) {
  RunGradKernel("convolution_grad_kernel", input, weight_shape, grad_output,
                Of(stride, padding, dilation, transposed, output_padding, groups), order, grad_weight);
}

Specs InferConv2d(const TensorView& input, const TensorView& weight, IntPair stride, IntPair padding, int64_t groups,
                  IntPair dilation, const std::optional<TensorView>& bias, Order) {
  return InferOutput("conv2d", input, weight, bias, OfPlane(stride, padding, groups, dilation));
}

void Conv2d(const TensorView& input, const TensorView& weight, IntPair stride, IntPair padding, int64_t groups,
            IntPair dilation, const std::optional<TensorView>& bias, Order order, Out output) {
  RunOutput("conv2d", input, weight, bias, OfPlane(stride, padding, groups, dilation), order, output);
}

Specs InferConv2dGradInput(const IntList& input_shape, const TensorView& weight, const TensorView& grad_output,
                           IntPair stride, IntPair padding, int64_t groups, IntPair dilation, Order) {
  return InferGradInput("conv2d_grad_input", input_shape, weight, grad_output,
                        OfPlane(stride, padding, groups, dilation));
}

void Conv2dGradInput(const IntList& input_shape, const TensorView& weight, const TensorView& grad_output,
                     IntPair stride, IntPair padding, int64_t groups, IntPair dilation, Order order, Out grad_input) {
  RunGradInput("conv2d_grad_input", input_shape, weight, grad_output, OfPlane(stride, padding, groups, dilation), order,
               grad_input);
}

Specs InferConv2dGradKernel(const TensorView& input, const IntList& weight_shape, const TensorView& grad_output,
                            IntPair stride, IntPair padding, int64_t groups, IntPair dilation, Order) {
  return InferGradKernel("conv2d_grad_kernel", input, weight_shape, grad_output,
                         OfPlane(stride, padding, groups, dilation));
}

void Conv2dGradKernel(const TensorView& input, const IntList& weight_shape, const TensorView& grad_output,
                      IntPair stride, IntPair padding, int64_t groups, IntPair dilation, Order order, Out grad_weight) {
  RunGradKernel("conv2d_grad_kernel", input, weight_shape, grad_output, OfPlane(stride, padding, groups, dilation),
                order, grad_weight);
}

}  // namespace repdl

REPDL_OPS(
    convolution,
    MakeOp<InferConvolution, Convolution, ConvKernel, ConvGradInputKernel, ConvPatchesKernel>(
        "convolution",
        "input, weight, bias=None, stride=1, padding=0, dilation=1, "
        "transposed=False, output_padding=0, groups=1, order='blocked'",
        kFloat32Or64),
    MakeOp<InferConvolutionGradInput, ConvolutionGradInput, ConvKernel, ConvGradInputKernel, ConvPatchesKernel>(
        "convolution_grad_input",
        "input_shape, weight, grad_output, stride=1, padding=0, dilation=1, transposed=False, output_padding=0, "
        "groups=1, order='blocked'",
        kFloat32Or64),
    MakeOp<InferConvolutionGradKernel, ConvolutionGradKernel, ConvGradKernelKernel>(
        "convolution_grad_kernel",
        "input, weight_shape, grad_output, stride=1, padding=0, dilation=1, transposed=False, output_padding=0, "
        "groups=1, order='blocked'",
        kFloat32Or64),
    MakeOp<InferIntegerConvolution, IntegerConvolution, IntegerConvKernel>(
        "integer_convolution",
        "input, weight, bias=None, stride=1, padding=0, dilation=1, transposed=False, output_padding=0, groups=1",
        kIntegers),
    MakeOp<InferConv2d, Conv2d, ConvKernel>(
        "conv2d", "input, weight, stride=1, padding=0, groups=1, dilation=1, bias=None, order='blocked'", kFloat32Or64),
    MakeOp<InferConv2dGradInput, Conv2dGradInput, ConvGradInputKernel, ConvPatchesKernel>(
        "conv2d_grad_input",
        "input_shape, weight, grad_output, stride=1, padding=0, groups=1, dilation=1, order='blocked'", kFloat32Or64),
    MakeOp<InferConv2dGradKernel, Conv2dGradKernel, ConvGradKernelKernel>(
        "conv2d_grad_kernel",
        "input, weight_shape, grad_output, stride=1, padding=0, groups=1, dilation=1, order='blocked'", kFloat32Or64))

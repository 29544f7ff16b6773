// SPDX-License-Identifier: MIT
#include "repdl/ops/convolution.h"

#include <algorithm>

#include "base/check.h"
#include "base/dispatch.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "base/op_scratch.h"
#include "drivers/contiguous.h"
#include "ops/convolution/convolution_kernel.h"
#include "ops/mm/mm_kernel.h"

namespace repdl {
namespace {

/// What a call says beside its tensors.
struct Settings {
  PerAxis stride, padding, dilation;
  int64_t groups;
  bool transposed = false;
  PerAxis output_padding = {0};
  int rank = 0;  // the dimensions of space that the op has, or 0 for one to three
};

void CheckAxes(const ArgName& name, const PerAxis& values, int rank, int64_t least) {
  REPDL_CHECK(values.size() == 1 || values.size() == rank, name, " must have one number, or one for each of ", rank,
              " dimensions, got ", Name(values));
  for (const int64_t value : values) {
    REPDL_CHECK(value >= least, name, " must be at least ", least, ", got ", Name(values));
    REPDL_CHECK(value <= INT32_MAX, name, " must be at most ", INT32_MAX, ", got ", Name(values));
  }
}

/// Sizes of the convolution from the shapes of input and weight; every check that does not need a third tensor. Of a
/// transposed one, those of the convolution whose gradient it is.
class Shapes {
 public:
  Shapes(std::string_view op, const IntList& input, const IntList& weight, const Settings& settings)
      : op_(op), input_(input), weight_(weight), settings_(settings), rank_(input.size() - 2) {
    CheckRanks();
    CheckChannels();
    sizes_.n = input[0], sizes_.c = weight[1], sizes_.o = weight[0] / settings.groups, sizes_.groups = settings.groups;
    for (int axis = 0; axis < kMaxAxes; ++axis) {
      const int at = axis - (kMaxAxes - rank_);
      at < 0 ? SetAxisOfOne(axis) : SetAxis(axis, at);
    }
    CheckCount();
    output_ = {input_[0], output_channels()};
    const Axes& places = settings_.transposed ? sizes_.input : sizes_.output;
    for (int axis = kMaxAxes - rank_; axis < kMaxAxes; ++axis) output_.Append(places[axis]);
    MergeAxes();
  }

  const ConvSizes& sizes() const { return sizes_; }
  int64_t output_channels() const { return settings_.transposed ? weight_[1] * settings_.groups : weight_[0]; }
  const IntList& Output() const { return output_; }

 private:
  void CheckRanks() const {
    if (settings_.rank != 0) {
      REPDL_CHECK(rank_ == settings_.rank, Arg("input"), " must have the shape (n, c, h, w), got ", Name(input_));
    } else {
      REPDL_CHECK(rank_ >= 1 && rank_ <= kMaxAxes, Arg("input"),
                  " must have the shape (n, c, …) with one to three dimensions of space, got ", Name(input_));
    }
    REPDL_CHECK(weight_.size() == rank_ + 2, Arg("weight"),
                settings_.rank != 0 ? " must have the shape (o, c / groups, kh, kw), got "
                : settings_.transposed
                    ? " must have the shape (c, o / groups, …), and as many dimensions as input, got "
                    : " must have the shape (o, c / groups, …), and as many dimensions as input, got ",
                Name(weight_));
    CheckAxes(Arg("stride"), settings_.stride, rank_, 1);
    CheckAxes(Arg("padding"), settings_.padding, rank_, 0);
    CheckAxes(Arg("dilation"), settings_.dilation, rank_, 1);
    CheckAxes(Arg("output_padding"), settings_.output_padding, rank_, 0);
  }

  void CheckChannels() const {
    const int64_t groups = settings_.groups;
    REPDL_CHECK(groups >= 1, Arg("groups"), " must be at least 1, got ", groups);
    REPDL_CHECK(input_[1] % groups == 0, Arg("groups"), "=", groups, " does not divide the ", input_[1],
                " input channels");
    REPDL_CHECK(weight_[0] % groups == 0, Arg("groups"), "=", groups, " does not divide the ", weight_[0],
                settings_.transposed ? " rows of weight" : " output channels");
    if (settings_.transposed) {
      REPDL_CHECK(weight_[0] == input_[1], Arg("weight"), " of shape ", Name(weight_), " takes ", weight_[0],
                  " input channels, but input of shape ", Name(input_), " has ", input_[1]);
    } else {
      REPDL_CHECK(weight_[1] == input_[1] / groups, Arg("weight"), " of shape ", Name(weight_), " takes ", weight_[1],
                  " input channels a group, but input of shape ", Name(input_), " has ", input_[1] / groups);
    }
    for (int at = 2; at < weight_.size(); ++at) {
      REPDL_CHECK(weight_[at] >= 1, Arg("weight"), " of shape ", Name(weight_), " has an empty kernel");
    }
  }

  void SetAxisOfOne(int axis) {
    sizes_.input[axis] = sizes_.kernel[axis] = sizes_.output[axis] = 1;
    sizes_.stride[axis] = sizes_.dilation[axis] = 1, sizes_.padding[axis] = 0;
  }

  void SetAxis(int axis, int at) {
    int64_t& stride = sizes_.stride[axis] = settings_.stride.At(at);
    const int64_t padding = sizes_.padding[axis] = settings_.padding.At(at);
    const int64_t dilation = sizes_.dilation[axis] = settings_.dilation.At(at);
    const int64_t kernel = sizes_.kernel[axis] = weight_[2 + at], size = input_[2 + at];
    REPDL_CHECK(static_cast<double>(dilation) * static_cast<double>(kernel) < 0x1p56 &&
                    static_cast<double>(stride) * static_cast<double>(size) < 0x1p56,
                Arg("dilation"), " ", Name(settings_.dilation), " and stride ", Name(settings_.stride),
                " make the images of input ", Name(input_), " too large to count");
    if (settings_.transposed) {
      const int64_t more = settings_.output_padding.At(at);
      REPDL_CHECK(more < std::max(stride, dilation), Arg("output_padding"),
                  " must be smaller than stride or dilation, got ", more, " for a stride of ", stride,
                  " and a dilation of ", dilation);
      sizes_.output[axis] = size;
      sizes_.input[axis] = (size - 1) * stride - 2 * padding + dilation * (kernel - 1) + more + 1;
      REPDL_CHECK(size >= 1 && sizes_.input[axis] >= 1, Arg("input"), " of shape ", Name(input_), " with weight ",
                  Name(weight_), " has no output: its size would be ", sizes_.input[axis]);
    } else {
      sizes_.input[axis] = size;
      const int64_t reach = size + 2 * padding - dilation * (kernel - 1) - 1;
      REPDL_CHECK(reach >= 0, Arg("weight"), " of shape ", Name(weight_), " is larger than the padded input of shape ",
                  Name(input_));
      sizes_.output[axis] = reach / stride + 1;
    }
    // The stride to a second place that is not there would only cost room.
    if (sizes_.output[axis] == 1) stride = 1;
  }

  void CheckCount() const {
    double places = static_cast<double>(std::max(sizes_.c, sizes_.o));
    for (int axis = 0; axis < kMaxAxes; ++axis) {
      places *= static_cast<double>(sizes_.input[axis] + 2 * sizes_.padding[axis]);
    }
    REPDL_CHECK(places < 0x1p56, Arg("padding"), " ", Name(settings_.padding), " makes the images of input ",
                Name(input_), " too large to count");
  }

  /// Axes of single taps, which see every place, are one axis: the order of the places is the same.
  void MergeAxes() {
    const auto sees_all = [&](int axis) {
      return sizes_.kernel[axis] == 1 && sizes_.padding[axis] == 0 && sizes_.input[axis] == sizes_.output[axis];
    };
    for (int axis = kMaxAxes - 2; axis >= 0 && sees_all(axis) && sees_all(kMaxAxes - 1); --axis) {
      sizes_.input[kMaxAxes - 1] *= sizes_.input[axis];
      sizes_.output[kMaxAxes - 1] = sizes_.input[kMaxAxes - 1];
      sizes_.stride[kMaxAxes - 1] = 1;
      SetAxisOfOne(axis);
    }
  }

  ArgName Arg(std::string_view name) const { return {op_, name}; }

  std::string_view op_;
  const IntList &input_, &weight_;
  const Settings& settings_;
  int rank_;
  ConvSizes sizes_{};
  IntList output_;
};

Settings Of(const PerAxis& stride, const PerAxis& padding, const PerAxis& dilation, bool transposed,
            const PerAxis& output_padding, int64_t groups) {
  return {stride, padding, dilation, groups, transposed, output_padding};
}

Settings OfPlane(IntPair stride, IntPair padding, int64_t groups, IntPair dilation) {
  return {.stride = stride, .padding = padding, .dilation = dilation, .groups = groups, .rank = 2};
}

/// Whether absent terms need a mask, and may not be products of a zero, which leave a chain as it is unless the other
/// factor is not finite or the chain has become -0, by a product that underflows.
template <class T>
bool NeedsMask(const Place& place, const ConvArgs<T>& args, int64_t num_other, int64_t num_source) {
  if (!args.plan.masked) return false;
  CheckCpu(place);  // the kernel answers into its memory
  bool needs_mask = true;
  ConvRangeKernel(place, ConvRangeArgs<T>{args.other, num_other, args.source, num_source, &needs_mask});
  return needs_mask;
}

/// What a gradient by the input is made of, in the type of its numbers.
template <class T>
class ByInput {
 public:
  ByInput(const Place& place, const ConvSizes& sizes, const TensorView& weight, const TensorView& grad_output,
          const std::optional<TensorView>& bias, Order order, const TensorView& result)
      : place_(place),
        sizes_(sizes),
        weight_(Contiguous(weight, scratch_)),
        grad_output_(Contiguous(grad_output, scratch_)),
        bias_(bias ? Contiguous(*bias, scratch_).Data<const T>() : nullptr),
        order_(order),
        result_(result.Data<T>()) {}

  void Run() {
    if (IsPatches()) {
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
    const Axes& s = sizes_.stride;
    std::optional<bool> needs_mask;
    Axes phase;
    for (phase[0] = 0; phase[0] < std::min(s[0], sizes_.input[0]); ++phase[0]) {
      for (phase[1] = 0; phase[1] < std::min(s[1], sizes_.input[1]); ++phase[1]) {
        for (phase[2] = 0; phase[2] < std::min(s[2], sizes_.input[2]); ++phase[2]) {
          const ConvPlan plan = ConvPlan::GradInput(sizes_, phase);
          plan.num_taps() == 0 ? FillPositions(plan) : RunPhase(plan, needs_mask);
        }
      }
    }
  }

 private:
  ConvArgs<T> Args(const TensorView& weight) const {
    return {.sizes = sizes_,
            .plan = {},
            .source = grad_output_.Data<const T>(),
            .other = weight.Data<const T>(),
            .bias = bias_,
            .result = result_,
            .order = order_};
  }

  void RunPhase(const ConvPlan& plan, std::optional<bool>& needs_mask) {
    OpScratch scratch(place_);
    TensorView taps = weight_;
    taps.shape = {sizes_.groups, sizes_.o, sizes_.c, sizes_.kernel[0], sizes_.kernel[1], sizes_.kernel[2]};
    taps.strides = ContiguousStrides(taps.shape);
    for (int axis = 0; axis < kMaxAxes; ++axis) Take(plan.kernel[axis], 3 + axis, taps);
    // The sum runs over output channels and taps.
    ConvArgs<T> args = Args(Contiguous(Permuted(taps, {0, 2, 1, 3, 4, 5}), scratch));
    args.plan = plan;
    if (plan.masked && !needs_mask) {
      ConvArgs<T> whole = Args(weight_);
      whole.plan = plan;
      needs_mask = NeedsMask(place_, whole, weight_.numel(), grad_output_.numel());
    }
    args.plan.masked = plan.masked && *needs_mask;
    ConvGradInputKernel(place_, args);
  }

  /// What of the kernel's places along an axis a plan has: every so many of them.
  static void Take(const Progression& taken, int dim, TensorView& weight) {
    weight.data = weight.Data<T>() + taken.first * weight.strides[dim];
    weight.shape[dim] = taken.count;
    weight.strides[dim] *= taken.step;
  }

  /// Whether each place of the result has at most one tap, those with one lie in boxes that tile it from its beginning, and
  /// the chains of all end at the same output channels.
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
    CheckCpu(place_);
    const int64_t planes = sizes_.groups * sizes_.c;
    for (int64_t plane = 0; plane < sizes_.n * planes; ++plane) {
      const T value = bias_ == nullptr ? T{0} : T{0} + bias_[plane % planes];
      for (int64_t line = 0; line < plan.num_lines(); ++line) {
        const Axes at = plan.FirstOfLine(line);
        T* const to = result_ + plane * plan.result_size + plan.first_result + at[0] * plan.result_step[0] +
                      at[1] * plan.result_step[1];
        for (int64_t col = 0; col < plan.positions[2]; ++col) to[col * plan.result_step[2]] = value;
      }
    }
  }

  Place place_;
  OpScratch scratch_{place_};
  const ConvSizes& sizes_;
  TensorView weight_, grad_output_;
  const T* bias_;
  Order order_;
  T* result_;
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
  DispatchReal(input.dtype, [&]<class T>() {
    ConvArgs<T> args{.sizes = sizes,
                     .plan = ConvPlan::Forward(sizes),
                     .source = Contiguous(input, scratch).Data<const T>(),
                     .other = Contiguous(weight, scratch).Data<const T>(),
                     .bias = bias ? Contiguous(*bias, scratch).Data<const T>() : nullptr,
                     .result = output.Data<T>(),
                     .order = order};
    args.plan.masked = NeedsMask(place, args, weight.numel(), input.numel());
    ConvKernel(place, args);
  });
}

void RunByKernel(const Place& place, const ConvSizes& sizes, const TensorView& input, const TensorView& grad_output,
                 Order order, const TensorView& grad_weight) {
  if (input.numel() == 0) return FillWithZero(place, grad_weight);
  OpScratch scratch(place);
  DispatchReal(input.dtype, [&]<class T>() {
    ConvArgs<T> args{.sizes = sizes,
                     .plan = ConvPlan::Forward(sizes),
                     .source = Contiguous(input, scratch).Data<const T>(),
                     .other = Contiguous(grad_output, scratch).Data<const T>(),
                     .bias = nullptr,
                     .result = grad_weight.Data<T>(),
                     .order = order};
    args.plan.masked = NeedsMask(place, args, grad_output.numel(), input.numel());
    ConvGradKernelKernel(place, args);
  });
}

Specs InferOutput(std::string_view op, const TensorView& input, const TensorView& weight,
                  const std::optional<TensorView>& bias, const Settings& settings) {
  CheckFloat({op, "input"}, input, input);
  CheckFloat({op, "weight"}, weight, input);
  const Shapes shapes(op, input.shape, weight.shape, settings);
  CheckFloat({op, "bias"}, bias, {shapes.output_channels()}, input);
  return {{input.dtype, shapes.Output()}};
}

void RunOutput(std::string_view op, const TensorView& input, const TensorView& weight,
               const std::optional<TensorView>& bias, const Settings& settings, Order order, const TensorView& output) {
  const FpEnvGuard guard;
  CheckOutputs(op, InferOutput(op, input, weight, bias, settings), {&output}, input);
  const Place place = PlaceOf(op, input);
  if (output.numel() == 0) return;
  const Shapes shapes(op, input.shape, weight.shape, settings);
  settings.transposed ? RunByInput(place, shapes.sizes(), weight, input, bias, order, output)
                      : RunForward(place, shapes.sizes(), input, weight, bias, order, output);
}

Specs InferGradInput(std::string_view op, const IntList& input_shape, const TensorView& weight,
                     const TensorView& grad_output, const Settings& settings) {
  CheckFloat({op, "weight"}, weight, weight);
  CheckFloat({op, "grad_output"}, grad_output, weight);
  CheckShape({op, "grad_output"}, grad_output, Shapes(op, input_shape, weight.shape, settings).Output());
  return {{weight.dtype, input_shape}};
}

void RunGradInput(std::string_view op, const IntList& input_shape, const TensorView& weight,
                  const TensorView& grad_output, const Settings& settings, Order order, const TensorView& grad_input) {
  const FpEnvGuard guard;
  CheckOutputs(op, InferGradInput(op, input_shape, weight, grad_output, settings), {&grad_input}, weight);
  const Place place = PlaceOf(op, weight);
  if (grad_input.numel() == 0) return;
  const Shapes shapes(op, input_shape, weight.shape, settings);
  settings.transposed ? RunForward(place, shapes.sizes(), grad_output, weight, std::nullopt, order, grad_input)
                      : RunByInput(place, shapes.sizes(), weight, grad_output, std::nullopt, order, grad_input);
}

Specs InferGradKernel(std::string_view op, const TensorView& input, const IntList& weight_shape,
                      const TensorView& grad_output, const Settings& settings) {
  CheckFloat({op, "input"}, input, input);
  CheckFloat({op, "grad_output"}, grad_output, input);
  CheckShape({op, "grad_output"}, grad_output, Shapes(op, input.shape, weight_shape, settings).Output());
  return {{input.dtype, weight_shape}};
}

void RunGradKernel(std::string_view op, const TensorView& input, const IntList& weight_shape,
                   const TensorView& grad_output, const Settings& settings, Order order,
                   const TensorView& grad_weight) {
  const FpEnvGuard guard;
  CheckOutputs(op, InferGradKernel(op, input, weight_shape, grad_output, settings), {&grad_weight}, input);
  const Place place = PlaceOf(op, input);
  if (grad_weight.numel() == 0) return;
  const Shapes shapes(op, input.shape, weight_shape, settings);
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
    MakeOp<InferConvolution, Convolution, ConvKernel, ConvGradInputKernel, ConvPatchesKernel, ConvRangeKernel>(
        "convolution",
        "input, weight, bias=None, stride=1, padding=0, dilation=1, "
        "transposed=False, output_padding=0, groups=1, order='blocked'",
        kFloat32Or64),
    MakeOp<InferConvolutionGradInput, ConvolutionGradInput, ConvKernel, ConvGradInputKernel, ConvPatchesKernel,
           ConvRangeKernel>(
        "convolution_grad_input",
        "input_shape, weight, grad_output, stride=1, padding=0, dilation=1, transposed=False, output_padding=0, "
        "groups=1, order='blocked'",
        kFloat32Or64),
    MakeOp<InferConvolutionGradKernel, ConvolutionGradKernel, ConvGradKernelKernel, ConvRangeKernel>(
        "convolution_grad_kernel",
        "input, weight_shape, grad_output, stride=1, padding=0, dilation=1, transposed=False, output_padding=0, "
        "groups=1, order='blocked'",
        kFloat32Or64),
    MakeOp<InferConv2d, Conv2d, ConvKernel, ConvRangeKernel>(
        "conv2d", "input, weight, stride=1, padding=0, groups=1, dilation=1, bias=None, order='blocked'", kFloat32Or64),
    MakeOp<InferConv2dGradInput, Conv2dGradInput, ConvGradInputKernel, ConvPatchesKernel, ConvRangeKernel>(
        "conv2d_grad_input",
        "input_shape, weight, grad_output, stride=1, padding=0, groups=1, dilation=1, order='blocked'", kFloat32Or64),
    MakeOp<InferConv2dGradKernel, Conv2dGradKernel, ConvGradKernelKernel, ConvRangeKernel>(
        "conv2d_grad_kernel",
        "input, weight_shape, grad_output, stride=1, padding=0, groups=1, dilation=1, order='blocked'", kFloat32Or64))

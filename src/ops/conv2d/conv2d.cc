// SPDX-License-Identifier: MIT
#include "repdl/ops/conv2d.h"

#include <cstring>

#include <algorithm>

#include "base/arena.h"
#include "base/check.h"
#include "base/dispatch.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "drivers/contiguous.h"
#include "ops/conv2d/conv2d_kernel.h"

namespace repdl {
namespace {

/// Sizes from the shapes of input and weight; every check that does not need a third tensor.
Conv2dSizes MakeSizes(std::string_view op, const IntList& input, const IntList& weight, IntPair stride, IntPair padding,
                      int64_t groups, IntPair dilation) {
  REPDL_CHECK(input.size() == 4, ArgName{op, "input"}, " must have the shape (n, c, h, w), got ", Name(input));
  REPDL_CHECK(weight.size() == 4, ArgName{op, "weight"}, " must have the shape (o, c / groups, kh, kw), got ",
              Name(weight));
  CheckPair({op, "stride"}, stride, 1);
  CheckPair({op, "padding"}, padding, 0);
  CheckPair({op, "dilation"}, dilation, 1);
  REPDL_CHECK(groups >= 1, ArgName{op, "groups"}, " must be at least 1, got ", groups);
  REPDL_CHECK(input[1] % groups == 0, ArgName{op, "groups"}, "=", groups, " does not divide the ", input[1],
              " input channels");
  REPDL_CHECK(weight[0] % groups == 0, ArgName{op, "groups"}, "=", groups, " does not divide the ", weight[0],
              " output channels");
  REPDL_CHECK(weight[1] == input[1] / groups, ArgName{op, "weight"}, " of shape ", Name(weight), " takes ", weight[1],
              " input channels a group, but input of shape ", Name(input), " has ", input[1] / groups);
  REPDL_CHECK(weight[2] >= 1 && weight[3] >= 1, ArgName{op, "weight"}, " of shape ", Name(weight),
              " has an empty kernel");
  Conv2dSizes sizes{};
  sizes.n = input[0], sizes.c = weight[1], sizes.h = input[2], sizes.w = input[3];
  sizes.o = weight[0] / groups, sizes.kh = weight[2], sizes.kw = weight[3];
  sizes.groups = groups;
  sizes.stride = stride, sizes.padding = padding, sizes.dilation = dilation;
  const double places = static_cast<double>(sizes.h + 2 * padding.h) * static_cast<double>(sizes.w + 2 * padding.w);
  REPDL_CHECK(places * static_cast<double>(std::max(sizes.c, sizes.o)) < 0x1p56, ArgName{op, "padding"}, " (",
              padding.h, ", ", padding.w, ") makes the images of input ", Name(input), " too large to count");
  const int64_t reach_h = sizes.h + 2 * padding.h - dilation.h * (sizes.kh - 1) - 1;
  const int64_t reach_w = sizes.w + 2 * padding.w - dilation.w * (sizes.kw - 1) - 1;
  REPDL_CHECK(reach_h >= 0 && reach_w >= 0, ArgName{op, "weight"}, " of shape ", Name(weight),
              " is larger than the padded input of shape ", Name(input));
  sizes.p = reach_h / stride.h + 1, sizes.q = reach_w / stride.w + 1;
  // The stride to a second row or column that is not there would only cost room.
  if (sizes.p == 1) sizes.stride.h = 1;
  if (sizes.q == 1) sizes.stride.w = 1;
  return sizes;
}

IntList OutputShape(const Conv2dSizes& sizes) { return {sizes.n, sizes.o * sizes.groups, sizes.p, sizes.q}; }

/// What of the kernel rows, or columns, a plan has: every so many of them.
void Slice(const Progression& taken, int dim, TensorView& weight) {
  weight.data = weight.Data<char>() + taken.first * weight.strides[dim] * ItemSize(weight.dtype);
  weight.shape[dim] = taken.count;
  weight.strides[dim] *= taken.step;
}

/// +0 at the positions of a plan.
template <class T>
void FillPositions(const ConvPlan& plan, int64_t planes, T* result) {
  for (int64_t plane = 0; plane < planes; ++plane, result += plan.result_size) {
    for (int64_t row = 0; row < plan.rows; ++row) {
      T* const to = result + plan.first_result + row * plan.result_row_step;
      for (int64_t col = 0; col < plan.cols; ++col) to[col * plan.result_col_step] = 0;
    }
  }
}

void FillZero(const TensorView& tensor) {
  std::memset(tensor.data, 0, static_cast<size_t>(tensor.numel() * ItemSize(tensor.dtype)));
}

}  // namespace

Specs InferConv2d(const TensorView& input, const TensorView& weight, IntPair stride, IntPair padding, int64_t groups,
                  IntPair dilation, const std::optional<TensorView>& bias, Order) {
  CheckFloat({"conv2d", "input"}, input, input);
  CheckFloat({"conv2d", "weight"}, weight, input);
  const Conv2dSizes sizes = MakeSizes("conv2d", input.shape, weight.shape, stride, padding, groups, dilation);
  if (bias) {
    CheckFloat({"conv2d", "bias"}, *bias, input);
    CheckShape({"conv2d", "bias"}, *bias, {weight.shape[0]});
  }
  return {{input.dtype, OutputShape(sizes)}};
}

void Conv2d(const TensorView& input, const TensorView& weight, IntPair stride, IntPair padding, int64_t groups,
            IntPair dilation, const std::optional<TensorView>& bias, Order order, Out output) {
  const FpEnvGuard guard;
  CheckOutputs("conv2d", InferConv2d(input, weight, stride, padding, groups, dilation, bias, order), {&output}, input);
  CheckCpu("conv2d", input);
  if (output.numel() == 0) return;
  Scratch scratch;
  const Conv2dSizes sizes = MakeSizes("conv2d", input.shape, weight.shape, stride, padding, groups, dilation);
  const ConvPlan plan = ConvPlan::Forward(sizes);
  DispatchReal(input.dtype, [&]<class T>() {
    Conv2dKernel(Conv2dArgs<T>{.sizes = sizes,
                               .plan = plan,
                               .source = Contiguous(input, scratch).Data<const T>(),
                               .other = Contiguous(weight, scratch).Data<const T>(),
                               .bias = bias ? Contiguous(*bias, scratch).Data<const T>() : nullptr,
                               .result = output.Data<T>(),
                               .order = order});
  });
}

Specs InferConv2dGradInput(const IntList& input_shape, const TensorView& weight, const TensorView& grad_output,
                           IntPair stride, IntPair padding, int64_t groups, IntPair dilation, Order) {
  CheckFloat({"conv2d_grad_input", "weight"}, weight, weight);
  CheckFloat({"conv2d_grad_input", "grad_output"}, grad_output, weight);
  const Conv2dSizes sizes =
      MakeSizes("conv2d_grad_input", input_shape, weight.shape, stride, padding, groups, dilation);
  CheckShape({"conv2d_grad_input", "grad_output"}, grad_output, OutputShape(sizes));
  return {{weight.dtype, input_shape}};
}

void Conv2dGradInput(const IntList& input_shape, const TensorView& weight, const TensorView& grad_output,
                     IntPair stride, IntPair padding, int64_t groups, IntPair dilation, Order order, Out grad_input) {
  const FpEnvGuard guard;
  CheckOutputs("conv2d_grad_input",
               InferConv2dGradInput(input_shape, weight, grad_output, stride, padding, groups, dilation, order),
               {&grad_input}, weight);
  CheckCpu("conv2d_grad_input", weight);
  if (grad_input.numel() == 0) return;
  const Conv2dSizes sizes =
      MakeSizes("conv2d_grad_input", input_shape, weight.shape, stride, padding, groups, dilation);
  if (weight.numel() == 0) return FillZero(grad_input);
  Scratch scratch;
  TensorView by_group = Contiguous(weight, scratch);
  by_group.shape = {groups, sizes.o, sizes.c, sizes.kh, sizes.kw};
  by_group.strides = ContiguousStrides(by_group.shape);
  DispatchReal(weight.dtype, [&]<class T>() {
    const T* const source = Contiguous(grad_output, scratch).Data<const T>();
    for (int64_t h = 0; h < std::min(sizes.stride.h, sizes.h); ++h) {
      for (int64_t w = 0; w < std::min(sizes.stride.w, sizes.w); ++w) {
        const ConvPlan plan = ConvPlan::GradInput(sizes, {h, w});
        if (plan.taps() == 0) {
          FillPositions(plan, sizes.n * groups * sizes.c, grad_input.Data<T>());
          continue;
        }
        Scratch of_plan;
        TensorView taps = by_group;
        Slice(plan.kernel_rows, 3, taps);
        Slice(plan.kernel_cols, 4, taps);
        Conv2dGradInputKernel(
            Conv2dArgs<T>{.sizes = sizes,
                          .plan = plan,
                          .source = source,
                          // The sum runs over output channels and taps.
                          .other = Contiguous(Permuted(taps, {0, 2, 1, 3, 4}), of_plan).Data<const T>(),
                          .bias = nullptr,
                          .result = grad_input.Data<T>(),
                          .order = order});
      }
    }
  });
}

Specs InferConv2dGradKernel(const TensorView& input, const IntList& weight_shape, const TensorView& grad_output,
                            IntPair stride, IntPair padding, int64_t groups, IntPair dilation, Order) {
  CheckFloat({"conv2d_grad_kernel", "input"}, input, input);
  CheckFloat({"conv2d_grad_kernel", "grad_output"}, grad_output, input);
  const Conv2dSizes sizes =
      MakeSizes("conv2d_grad_kernel", input.shape, weight_shape, stride, padding, groups, dilation);
  CheckShape({"conv2d_grad_kernel", "grad_output"}, grad_output, OutputShape(sizes));
  return {{input.dtype, weight_shape}};
}

void Conv2dGradKernel(const TensorView& input, const IntList& weight_shape, const TensorView& grad_output,
                      IntPair stride, IntPair padding, int64_t groups, IntPair dilation, Order order, Out grad_weight) {
  const FpEnvGuard guard;
  CheckOutputs("conv2d_grad_kernel",
               InferConv2dGradKernel(input, weight_shape, grad_output, stride, padding, groups, dilation, order),
               {&grad_weight}, input);
  CheckCpu("conv2d_grad_kernel", input);
  if (grad_weight.numel() == 0) return;
  if (input.numel() == 0) return FillZero(grad_weight);
  Scratch scratch;
  const Conv2dSizes sizes =
      MakeSizes("conv2d_grad_kernel", input.shape, weight_shape, stride, padding, groups, dilation);
  const ConvPlan plan = ConvPlan::Forward(sizes);
  DispatchReal(input.dtype, [&]<class T>() {
    Conv2dGradWeightKernel(Conv2dArgs<T>{.sizes = sizes,
                                         .plan = plan,
                                         .source = Contiguous(input, scratch).Data<const T>(),
                                         .other = Contiguous(grad_output, scratch).Data<const T>(),
                                         .bias = nullptr,
                                         .result = grad_weight.Data<T>(),
                                         .order = order});
  });
}

}  // namespace repdl

REPDL_OPS(
    conv2d,
    MakeOp<InferConv2d, Conv2d>("conv2d",
                                "input, weight, stride=1, padding=0, groups=1, dilation=1, bias=None, order='blocked'",
                                kFloat32Or64),
    MakeOp<InferConv2dGradInput, Conv2dGradInput>(
        "conv2d_grad_input",
        "input_shape, weight, grad_output, stride=1, padding=0, groups=1, dilation=1, order='blocked'", kFloat32Or64),
    MakeOp<InferConv2dGradKernel, Conv2dGradKernel>(
        "conv2d_grad_kernel",
        "input, weight_shape, grad_output, stride=1, padding=0, groups=1, dilation=1, order='blocked'", kFloat32Or64))

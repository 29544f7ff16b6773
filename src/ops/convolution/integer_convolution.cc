// SPDX-License-Identifier: MIT
#include <algorithm>
#include <optional>

#include "base/check.h"
#include "base/op_scratch.h"
#include "drivers/contiguous.h"
#include "drivers/unsigned.h"
#include "ops/convolution/convolution_shapes.h"
#include "ops/convolution/integer_convolution_kernel.h"
#include "repdl/ops/convolution.h"

namespace repdl {
namespace {

constexpr std::string_view kOp = "integer_convolution";

/// The positions of one plan, for every image.
class Integers {
 public:
  Integers(const Place& place, const ConvSizes& sizes, const TensorView& source, const TensorView& weight,
           const std::optional<TensorView>& bias, const TensorView& result)
      : place_(place), weight_(Contiguous(weight, scratch_)) {
    args_.dtype = source.dtype;
    args_.source = Contiguous(source, scratch_).data;
    args_.n = sizes.n, args_.groups = sizes.groups;
    if (bias) args_.bias = Contiguous(*bias, scratch_).data;
    args_.result = result.data;
  }

  void Forward(const ConvSizes& sizes) {
    args_.rows = sizes.o;
    Run(ConvPlan::Forward(sizes), weight_);
  }

  /// By the remainders of the places modulo the stride.
  void ByInput(const ConvSizes& sizes) {
    args_.rows = sizes.c;
    const Axes& s = sizes.stride;
    Axes phase;
    for (phase[0] = 0; phase[0] < std::min(s[0], sizes.input[0]); ++phase[0]) {
      for (phase[1] = 0; phase[1] < std::min(s[1], sizes.input[1]); ++phase[1]) {
        for (phase[2] = 0; phase[2] < std::min(s[2], sizes.input[2]); ++phase[2]) {
          const ConvPlan plan = ConvPlan::GradInput(sizes, phase);
          TensorView taps = weight_;
          taps.shape = {sizes.groups, sizes.o, sizes.c, sizes.kernel[0], sizes.kernel[1], sizes.kernel[2]};
          taps.strides = ContiguousStrides(taps.shape);
          for (int axis = 0; axis < kMaxAxes; ++axis) TakePlaces(plan.kernel[axis], 3 + axis, taps);
          Run(plan, Permuted(taps, {0, 2, 1, 3, 4, 5}));
        }
      }
    }
  }

 private:
  void Run(const ConvPlan& plan, const TensorView& weight) {
    OpScratch scratch(place_);
    args_.plan = plan;
    args_.weight = Contiguous(weight, scratch).data;
    IntegerConvKernel(place_, args_);
  }

  Place place_;
  OpScratch scratch_{place_};
  TensorView weight_;
  IntegerConvArgs args_{};
};

}  // namespace

Specs InferIntegerConvolution(const TensorView& input, const TensorView& weight, const std::optional<TensorView>& bias,
                              const PerAxis& stride, const PerAxis& padding, const PerAxis& dilation, bool transposed,
                              const PerAxis& output_padding, int64_t groups) {
  CheckInteger({kOp, "input"}, input, input, "convolution");
  CheckInteger({kOp, "weight"}, weight, input, "convolution");
  const ConvSettings settings{stride, padding, dilation, groups, transposed, output_padding};
  const ConvShapes shapes(kOp, input.shape, weight.shape, settings);
  if (bias) {
    CheckInteger({kOp, "bias"}, *bias, input, "convolution");
    CheckShape({kOp, "bias"}, *bias, {shapes.output_channels()});
  }
  return {{input.dtype, shapes.Output()}};
}

void IntegerConvolution(const TensorView& input, const TensorView& weight, const std::optional<TensorView>& bias,
                        const PerAxis& stride, const PerAxis& padding, const PerAxis& dilation, bool transposed,
                        const PerAxis& output_padding, int64_t groups, Out output) {
  CheckOutputs(
      kOp, InferIntegerConvolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups),
      {&output}, input);
  const Place place = PlaceOf(kOp, input);
  if (output.numel() == 0) return;
  const ConvSettings settings{stride, padding, dilation, groups, transposed, output_padding};
  const ConvShapes shapes(kOp, input.shape, weight.shape, settings);
  Integers integers(place, shapes.sizes(), input, weight, bias, output);
  transposed ? integers.ByInput(shapes.sizes()) : integers.Forward(shapes.sizes());
}

}  // namespace repdl

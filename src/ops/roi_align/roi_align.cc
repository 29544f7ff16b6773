// SPDX-License-Identifier: MIT
#include "repdl/ops/roi_align.h"

#include "base/check.h"
#include "base/dispatch.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "base/op_scratch.h"
#include "drivers/boxes.h"
#include "drivers/contiguous.h"
#include "drivers/indices.h"
#include "ops/roi_align/roi_align_kernel.h"

namespace repdl {
namespace {

template <class T>
void SetBoxes(RoiAlignArgs<T>& args, std::string_view op, const TensorView& boxes, const TensorView& indices,
              OpScratch& scratch) {
  args.count = boxes.shape[0];
  args.images = CheckedIndices({op, "indices"}, indices, args.batch, scratch);
  args.boxes = Contiguous(boxes, scratch).Data<const T>();
}

/// Of both ops, for images of this size.
void Check(std::string_view op, const TensorView& boxes, const TensorView& indices, const TensorView& like,
           const IntList& input_size, IntPair output_size, int64_t sampling_ratio) {
  CheckBoxes({op, "boxes"}, boxes, like, "(k, 4)");
  CheckImageOfEach({op, "indices"}, indices, boxes.shape[0], like);
  REPDL_CHECK(input_size[2] > 0 && input_size[3] > 0 && input_size[2] <= INT32_MAX && input_size[3] <= INT32_MAX, "[",
              op, "] images of shape ", Name(input_size), " must have a height and a width in [1, 2^31)");
  CheckPair({op, "output_size"}, output_size, 1);
  REPDL_CHECK(sampling_ratio <= kMaxRoiPoints, ArgName{op, "sampling_ratio"}, " must be at most 2^16, got ",
              sampling_ratio);
}

constexpr ArgName kInput{"roi_align", "input"}, kGradOutput{"roi_align_grad", "grad_output"};
constexpr ArgName kInputSize{"roi_align_grad", "input_size"};

}  // namespace

Specs InferRoiAlign(const TensorView& input, const TensorView& boxes, const TensorView& indices, IntPair output_size,
                    double /*spatial_scale*/, int64_t sampling_ratio, bool /*aligned*/) {
  CheckFloat(kInput, input, input);
  CheckRank(kInput, input, 4, 4, "(n, c, h, w)");
  Check("roi_align", boxes, indices, input, input.shape, output_size, sampling_ratio);
  return {{input.dtype, {boxes.shape[0], input.shape[1], output_size.h, output_size.w}}};
}

void RoiAlign(const TensorView& input, const TensorView& boxes, const TensorView& indices, IntPair output_size,
              double spatial_scale, int64_t sampling_ratio, bool aligned, Out output) {
  const FpEnvGuard guard;
  CheckOutputs("roi_align", InferRoiAlign(input, boxes, indices, output_size, spatial_scale, sampling_ratio, aligned),
               {&output}, input);
  const Place place = PlaceOf("roi_align", input);
  OpScratch scratch(place);
  DispatchReal(input.dtype, [&]<class T>() {
    RoiAlignArgs<T> args{};
    args.batch = input.shape[0], args.channels = input.shape[1];
    args.height = input.shape[2], args.width = input.shape[3];
    args.rows = output_size.h, args.columns = output_size.w;
    args.settings = {static_cast<T>(spatial_scale), aligned, sampling_ratio};
    args.input = Contiguous(input, scratch).Data<const T>();
    args.output = output.Data<T>();
    SetBoxes(args, "roi_align", boxes, indices, scratch);
    if (output.numel() != 0) RoiAlignKernel(place, args);
  });
}

Specs InferRoiAlignGrad(const TensorView& grad_output, const TensorView& boxes, const TensorView& indices,
                        const IntList& input_size, double /*spatial_scale*/, int64_t sampling_ratio, bool /*aligned*/) {
  CheckFloat(kGradOutput, grad_output, grad_output);
  CheckRank(kGradOutput, grad_output, 4, 4, "(k, c, p, q)");
  REPDL_CHECK(input_size.size() == 4, kInputSize, " ", Name(input_size), " must be (n, c, h, w)");
  REPDL_CHECK(input_size[0] >= 0, kInputSize, " ", Name(input_size), " must not be negative");
  const IntList& shape = grad_output.shape;
  Check("roi_align_grad", boxes, indices, grad_output, input_size, {shape[2], shape[3]}, sampling_ratio);
  CheckShape(kGradOutput, grad_output, {boxes.shape[0], input_size[1], shape[2], shape[3]});
  return {{grad_output.dtype, input_size}};
}

void RoiAlignGrad(const TensorView& grad_output, const TensorView& boxes, const TensorView& indices,
                  const IntList& input_size, double spatial_scale, int64_t sampling_ratio, bool aligned,
                  Out grad_input) {
  const FpEnvGuard guard;
  CheckOutputs("roi_align_grad",
               InferRoiAlignGrad(grad_output, boxes, indices, input_size, spatial_scale, sampling_ratio, aligned),
               {&grad_input}, grad_output);
  const Place place = PlaceOf("roi_align_grad", grad_output);
  FillWithZero(place, grad_input);
  OpScratch scratch(place);
  DispatchReal(grad_output.dtype, [&]<class T>() {
    RoiAlignArgs<T> args{};
    args.batch = input_size[0], args.channels = input_size[1];
    args.height = input_size[2], args.width = input_size[3];
    args.rows = grad_output.shape[2], args.columns = grad_output.shape[3];
    args.settings = {static_cast<T>(spatial_scale), aligned, sampling_ratio};
    args.grad_input = grad_input.Data<T>();
    args.grad_output = Contiguous(grad_output, scratch).Data<const T>();
    SetBoxes(args, "roi_align_grad", boxes, indices, scratch);
    if (grad_output.numel() != 0) RoiAlignGradKernel(place, args);
  });
}

}  // namespace repdl

REPDL_OPS(roi_align,
          MakeOp<InferRoiAlign, RoiAlign, RoiAlignKernel>(
              "roi_align", "input, boxes, indices, output_size, spatial_scale=1.0, sampling_ratio=-1, aligned=False",
              kFloat32Or64),
          MakeOp<InferRoiAlignGrad, RoiAlignGrad, RoiAlignGradKernel>(
              "roi_align_grad",
              "grad_output, boxes, indices, input_size, spatial_scale=1.0, sampling_ratio=-1, aligned=False",
              kFloat32Or64))

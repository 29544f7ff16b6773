// SPDX-License-Identifier: MIT
#include "repdl/ops/roi_pool.h"

#include "base/check.h"
#include "base/dispatch.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "base/op_scratch.h"
#include "drivers/boxes.h"
#include "drivers/contiguous.h"
#include "drivers/indices.h"
#include "ops/roi_pool/roi_pool_bins.h"
#include "ops/roi_pool/roi_pool_kernel.h"

namespace repdl {
namespace {

constexpr ArgName kInput{"roi_pool", "input"}, kGradOutput{"roi_pool_grad", "grad_output"};
constexpr ArgName kInputSize{"roi_pool_grad", "input_size"}, kPlaces{"roi_pool_grad", "places"};

void CheckImages(const ArgName& name, const IntList& input_size) {
  REPDL_CHECK(input_size[2] > 0 && input_size[3] > 0 && input_size[2] <= INT32_MAX / input_size[3], "[", name.op,
              "] images of shape ", Name(input_size), " must have an element, and fewer than 2^31");
}

}  // namespace

Specs InferRoiPool(const TensorView& input, const TensorView& boxes, const TensorView& indices, IntPair output_size,
                   double /*spatial_scale*/) {
  CheckFloat(kInput, input, input);
  CheckRank(kInput, input, 4, 4, "(n, c, h, w)");
  CheckImages(kInput, input.shape);
  CheckBoxes({"roi_pool", "boxes"}, boxes, input, "(k, 4)");
  CheckImageOfEach({"roi_pool", "indices"}, indices, boxes.shape[0], input);
  CheckPair({"roi_pool", "output_size"}, output_size, 1);
  const IntList shape{boxes.shape[0], input.shape[1], output_size.h, output_size.w};
  return {{input.dtype, shape}, {DType::kInt64, shape}};
}

void RoiPool(const TensorView& input, const TensorView& boxes, const TensorView& indices, IntPair output_size,
             double spatial_scale, Out output, Out places) {
  const FpEnvGuard guard;
  CheckOutputs("roi_pool", InferRoiPool(input, boxes, indices, output_size, spatial_scale), {&output, &places}, input);
  const Place place = PlaceOf("roi_pool", input);
  OpScratch scratch(place);
  const int64_t* const images = CheckedIndices({"roi_pool", "indices"}, indices, input.shape[0], scratch);
  if (output.numel() == 0) return;
  DispatchReal(input.dtype, [&]<class T>() {
    const int64_t count = boxes.shape[0], rows = output_size.h, columns = output_size.w;
    RoiPoolArgs<T> args{};
    args.count = count, args.images = images;
    args.boxes = Contiguous(boxes, scratch).Data<const T>(), args.scale = static_cast<T>(spatial_scale);
    args.y_begins = scratch.Get<int32_t>(count * rows), args.y_ends = scratch.Get<int32_t>(count * rows);
    args.x_begins = scratch.Get<int32_t>(count * columns), args.x_ends = scratch.Get<int32_t>(count * columns);
    args.batch = input.shape[0], args.channels = input.shape[1];
    args.height = input.shape[2], args.width = input.shape[3];
    args.rows = rows, args.columns = columns;
    args.input = Contiguous(input, scratch).Data<const T>();
    args.output = output.Data<T>(), args.places = places.Data<int64_t>();
    for (int64_t r = 0; place.IsCpu() && r < count; ++r) FindBinsOfBox(args, r);
    RoiPoolKernel(place, args);
  });
}

Specs InferRoiPoolGrad(const TensorView& grad_output, const TensorView& places, const TensorView& indices,
                       const IntList& input_size) {
  CheckFloat(kGradOutput, grad_output, grad_output);
  CheckRank(kGradOutput, grad_output, 4, 4, "(k, c, p, q)");
  REPDL_CHECK(input_size.size() == 4, kInputSize, " ", Name(input_size), " must be (n, c, h, w)");
  REPDL_CHECK(input_size[0] >= 0, kInputSize, " ", Name(input_size), " must not be negative");
  CheckImages(kInputSize, input_size);
  const IntList& shape = grad_output.shape;
  CheckShape(kGradOutput, grad_output, {shape[0], input_size[1], shape[2], shape[3]});
  CheckDType(kPlaces, places, DType::kInt64);
  CheckSameDevice(kPlaces, places, grad_output);
  CheckShape(kPlaces, places, shape);
  CheckImageOfEach({"roi_pool_grad", "indices"}, indices, shape[0], grad_output);
  return {{grad_output.dtype, input_size}};
}

void RoiPoolGrad(const TensorView& grad_output, const TensorView& places, const TensorView& indices,
                 const IntList& input_size, Out grad_input) {
  const FpEnvGuard guard;
  CheckOutputs("roi_pool_grad", InferRoiPoolGrad(grad_output, places, indices, input_size), {&grad_input}, grad_output);
  const Place place = PlaceOf("roi_pool_grad", grad_output);
  OpScratch scratch(place);
  const int64_t* const images = CheckedIndices({"roi_pool_grad", "indices"}, indices, input_size[0], scratch);
  FillWithZero(place, grad_input);
  if (grad_output.numel() == 0) return;
  const int64_t size = input_size[2] * input_size[3];
  const auto* const at = Contiguous(places, scratch).Data<const int64_t>();
  for (int64_t i = 0; place.IsCpu() && i < places.numel(); ++i) {
    REPDL_CHECK(at[i] >= -1 && at[i] < size, kPlaces, " holds ", at[i], ", which is not in [-1, ", size, ")");
  }
  DispatchReal(grad_output.dtype, [&]<class T>() {
    RoiPoolGradKernel(place,
                      RoiPoolGradArgs<T>{grad_output.shape[0], images, input_size[0], input_size[1], size,
                                         grad_output.shape[2] * grad_output.shape[3],
                                         Contiguous(grad_output, scratch).Data<const T>(), at, grad_input.Data<T>()});
  });
}

}  // namespace repdl

REPDL_OPS(roi_pool,
          MakeOp<InferRoiPool, RoiPool, RoiPoolKernel>("roi_pool",
                                                       "input, boxes, indices, output_size, spatial_scale=1.0",
                                                       kFloat32Or64),
          MakeOp<InferRoiPoolGrad, RoiPoolGrad, RoiPoolGradKernel>("roi_pool_grad",
                                                                   "grad_output, places, indices, input_size",
                                                                   kFloat32Or64))

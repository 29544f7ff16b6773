// SPDX-License-Identifier: MIT
#include "repdl/ops/nms.h"

#include <bit>
#include <limits>
#include <type_traits>

#include "base/check.h"
#include "base/dispatch.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "base/op_scratch.h"
#include "drivers/boxes.h"
#include "drivers/contiguous.h"
#include "ops/nms/nms_kernel.h"
#include "ops/sort/sort_kernel.h"

namespace repdl {
namespace {

/// The largest number of the type that is not above x.
template <class T>
T RoundedDown(double x) {
  const T near = static_cast<T>(x);
  if (!(static_cast<double>(near) > x)) return near;
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  if (near == T{0}) return -std::numeric_limits<T>::denorm_min();
  const auto bits = std::bit_cast<Bits>(near);
  return std::bit_cast<T>(near > T{0} ? bits - 1 : bits + 1);
}

}  // namespace

Specs InferNms(const TensorView& boxes, const TensorView& scores, double /*iou_threshold*/) {
  const ArgName name{"nms", "boxes"};
  CheckBoxes(name, boxes, boxes, "(n, 4)");
  CheckFloat({"nms", "scores"}, scores, boxes);
  CheckShape({"nms", "scores"}, scores, {boxes.shape[0]});
  REPDL_CHECK(boxes.shape[0] <= UINT32_MAX, name, " has ", boxes.shape[0], " boxes; at most 2^32 - 1 are supported");
  return {{DType::kInt64, {boxes.shape[0]}}, {DType::kInt64, {}}};
}

void Nms(const TensorView& boxes, const TensorView& scores, double iou_threshold, Out indices, Out count) {
  const FpEnvGuard guard;
  CheckOutputs("nms", InferNms(boxes, scores, iou_threshold), {&indices, &count}, boxes);
  const Place place = PlaceOf("nms", boxes);
  const int64_t n = boxes.shape[0];
  if (n == 0) return FillWithZero(place, count);
  OpScratch scratch(place);
  SortArgs sort{};
  sort.choice = Choice::kFirst, sort.descending = true, sort.dtype = scores.dtype;
  sort.rows = 1, sort.n = n, sort.k = n;
  sort.x = Contiguous(scores, scratch).data;
  sort.values = scratch.New(scores.dtype, scores.shape).data;
  sort.indices = scratch.Get<int64_t>(n);
  SortKernel(place, sort);
  DispatchReal(boxes.dtype, [&]<class T>() {
    NmsKernel(place, NmsArgs<T>{n, Contiguous(boxes, scratch).Data<const T>(), sort.indices,
                                RoundedDown<T>(iou_threshold), indices.Data<int64_t>(), count.Data<int64_t>()});
  });
}

}  // namespace repdl

REPDL_OPS(nms, MakeOp<InferNms, Nms, SortKernel, NmsKernel>("nms", "boxes, scores, iou_threshold", kFloat32Or64))

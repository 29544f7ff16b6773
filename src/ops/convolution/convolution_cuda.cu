// SPDX-License-Identifier: MIT
// Convolutions as products whose right operand is read in place, through a window.
#include <algorithm>
#include <cstdint>
#include <limits>

#include "drivers/product_cuda.h"
#include "drivers/product_operand_cuda.h"
#include "drivers/product_sink_cuda.h"
#include "drivers/product_window_cuda.h"
#include "ops/convolution/convolution_kernel.h"
#include "ops/convolution/tap_chunks.h"
#include "ops/mm/mm_kernel.h"

namespace repdl::cuda {

static_assert(kMaxAxes == kWindowAxes);

/// A number of places along an axis, which kernels count in 32 bits.
static int32_t Narrow(const Place& place, int64_t places) {
  if (places < std::numeric_limits<int32_t>::min() || places > std::numeric_limits<int32_t>::max()) {
    throw NotImplementedError(
        Message("[", place.op, "] of ", places, " places along a dimension has no kernel for ", Name(place.device)));
  }
  return static_cast<int32_t>(places);
}

/// Positions of a plan, or its taps.
static WindowRange RangeOf(const Place& place, int64_t outer_stride, const Axes& sizes, const Axes& steps) {
  WindowRange range{};
  range.outer_stride = outer_stride;
  for (int axis = 0; axis < kMaxAxes; ++axis) {
    range.sizes[axis] = Narrow(place, std::max<int64_t>(1, sizes[axis]));
    range.steps[axis] = Narrow(place, steps[axis]);
    Narrow(place, range.sizes[axis] * steps[axis]);
  }
  return range;
}

/// What a plan reads of images of `groups` groups, with positions as lines.
template <class T>
static WindowOperand<T> WindowOf(const Place& place, const ConvArgs<T>& args) {
  const ConvPlan& plan = args.plan;
  WindowOperand<T> window{};
  const Axes position_steps{plan.PositionStep(0), plan.PositionStep(1), plan.PositionStep(2)};
  const Axes tap_steps{plan.TapStep(0), plan.TapStep(1), plan.TapStep(2)};
  window.data = args.source;
  window.lines = args.sizes.n * plan.num_positions();
  window.matrix_stride = plan.source_size();
  window.by_line = RangeOf(place, args.sizes.groups * plan.source_size(), plan.positions, position_steps);
  window.by_term = RangeOf(place, plan.source_plane(),
                           {plan.kernel[0].count, plan.kernel[1].count, plan.kernel[2].count}, tap_steps);
  for (int axis = 0; axis < kMaxAxes; ++axis) {
    window.first[axis] = Narrow(place, plan.FirstPlace(axis));
    window.size[axis] = Narrow(place, plan.source[axis]);
    Narrow(place, plan.FirstPlace(axis) + (plan.positions[axis] - 1) * position_steps[axis] +
                      (plan.kernel[axis].count - 1) * tap_steps[axis]);
  }
  window.masked = plan.masked;
  window.SetStrides();
  return window;
}

/// A matrix for each group, which lie side by side.
template <class T>
static ProductOperand<T> MatrixOfGroups(const T* data, int64_t lines, int64_t line_stride, int64_t k_stride,
                                        int64_t groups, int64_t group_stride) {
  Loops loops;
  loops.Append(groups, group_stride);
  ProductOperand<T> matrix{data, lines, line_stride, k_stride, scalar::DeviceLoops(loops), {}};
  matrix.way = WayOf(matrix);
  return matrix;
}

/// The places along the axes of planes, in planes of the images of a group.
static scalar::DeviceLoops PlacesOfImages(int64_t images, int64_t image_stride, const Axes& sizes, const Axes& steps) {
  Loops loops;
  loops.Append(images, image_stride);
  for (int axis = 0; axis < kMaxAxes; ++axis) loops.Append(sizes[axis], steps[axis]);
  return scalar::DeviceLoops(loops);
}

template <class T>
using OverPositionsArgs = ProductArgs<ProductOperand<T>, WindowOperand<T>, TapChunks, PlaceSink<T>>;

template <class Args>
static void Run(const Place& place, const Args& args, int64_t groups, int64_t num_k, int64_t chain) {
  const ProductSizes sizes{.m = args.left.lines,
                           .n = args.right.lines,
                           .k = num_k,
                           .batch = groups,
                           .chain = chain,
                           .item = sizeof(typename Args::T),
                           .may_transpose = false};
  RunProduct(place, args, sizes, PlanProduct(sizes, Multiprocessors(place)));
}

/// Forward and the gradient by the input: `m` rows a group of args.other times what the plan reads.
template <class T>
static void OverPositions(const Place& place, const ConvArgs<T>& args, int64_t m) {
  const ConvPlan& plan = args.plan;
  const int64_t groups = args.sizes.groups, all_terms = plan.channels * NumPlaces(args.sizes.kernel);
  const int64_t chain = ChainLength(args.order, all_terms);
  const TapChunks chunks(plan, args.sizes.kernel, chain);
  const int64_t num_k = chunks.num_terms;
  OverPositionsArgs<T> product{MatrixOfGroups(args.other, m, num_k, 1, groups, m * num_k), WindowOf(place, args),
                               chunks};
  if (num_k == 0) {  // operands without elements may lie nowhere: nothing steps through them
    product.left = MatrixOfGroups<T>(nullptr, m, 0, 0, groups, 0);
    product.right.matrix_stride = product.right.by_line.outer_stride = 0;
  }
  PlaceSink<T>& sink = product.sink;
  Loops rows;
  rows.Append(m, plan.result_size);
  sink.c = args.result + plan.first_result;
  sink.matrix_stride = m * plan.result_size;
  sink.rows = scalar::DeviceLoops(rows);
  sink.cols = PlacesOfImages(args.sizes.n, groups * m * plan.result_size, plan.positions, plan.result_step);
  sink.bias = args.bias, sink.bias_matrix_stride = m, sink.bias_rows = 1;
  Run(place, product, groups, num_k == 0 ? 0 : all_terms, chain);
}

/// The gradient by the weight.
template <class T>
static void OverTaps(const Place& place, const ConvArgs<T>& args) {
  const ConvPlan& plan = args.plan;
  const int64_t groups = args.sizes.groups, m = args.sizes.o, n = plan.channels * plan.num_taps();
  const int64_t positions = plan.num_positions(), num_k = args.sizes.n * positions;
  const int64_t chain = ChainLength(args.order, num_k);
  ProductArgs<PlaneOperand<T>, WindowOperand<T>, Chunks, PlaceSink<T>> product{
      {args.other, m, m * positions, groups * m * positions, positions}, WindowOf(place, args), Chunks(num_k, chain)};
  std::swap(product.right.by_line, product.right.by_term);
  product.right.lines = n;
  product.sink = PlaceSink<T>::Partial(args.result, m, n, groups);
  Run(place, product, groups, num_k, chain);
}

/// The gradient by the input where each tap has places of its own: a product of (channel, tap) by output channel, and of
/// output channel by place.
template <class T>
static void OverPatches(const Place& place, const ConvArgs<T>& args) {
  const ConvSizes& s = args.sizes;
  const int64_t positions = NumPlaces(s.output), taps = NumPlaces(s.kernel), m = s.c * taps, plane = NumPlaces(s.input);
  const int64_t num_k = s.o * taps, chain = std::min(ChainLength(args.order, num_k), num_k) / taps;
  const Axes whole = {s.input[1] * s.input[2], s.input[2], 1}, still = {0, 0, 0}, one = {1, 1, 1};
  const Axes flat = {1, 1, positions};
  OverPositionsArgs<T> product{
      MatrixOfGroups(args.other, m, 1, m, s.groups, s.o * m), {}, TapChunks(Chunks(s.o, chain))};
  WindowOperand<T>& window = product.right;
  window.data = args.source;
  window.lines = s.n * positions;
  window.matrix_stride = s.o * positions;
  window.by_line = RangeOf(place, s.groups * s.o * positions, flat, one);
  window.by_term = RangeOf(place, positions, one, still);
  for (int axis = 0; axis < kMaxAxes; ++axis) window.size[axis] = Narrow(place, flat[axis]);
  window.SetStrides();
  PlaceSink<T>& sink = product.sink;
  sink.c = args.result;
  sink.matrix_stride = s.c * plane;
  sink.rows = PlacesOfImages(s.c, plane, s.kernel, whole);
  sink.cols = PlacesOfImages(s.n, s.groups * s.c * plane, s.output,
                             {s.kernel[0] * whole[0], s.kernel[1] * whole[1], s.kernel[2]});
  sink.bias = args.bias, sink.bias_matrix_stride = s.c, sink.bias_rows = taps;
  Run(place, product, s.groups, s.o, chain);
}

REPDL_CUDA_KERNEL(ConvKernel, ConvArgs<float>) { OverPositions(place, args, args.sizes.o); }
REPDL_CUDA_KERNEL(ConvKernel, ConvArgs<double>) { OverPositions(place, args, args.sizes.o); }
REPDL_CUDA_KERNEL(ConvGradInputKernel, ConvArgs<float>) { OverPositions(place, args, args.sizes.c); }
REPDL_CUDA_KERNEL(ConvGradInputKernel, ConvArgs<double>) { OverPositions(place, args, args.sizes.c); }
REPDL_CUDA_KERNEL(ConvGradKernelKernel, ConvArgs<float>) { OverTaps(place, args); }
REPDL_CUDA_KERNEL(ConvGradKernelKernel, ConvArgs<double>) { OverTaps(place, args); }
REPDL_CUDA_KERNEL(ConvPatchesKernel, ConvArgs<float>) { OverPatches(place, args); }
REPDL_CUDA_KERNEL(ConvPatchesKernel, ConvArgs<double>) { OverPatches(place, args); }

}  // namespace repdl::cuda

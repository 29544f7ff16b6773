// SPDX-License-Identifier: MIT
#include "repdl/ops/grid_sample.h"

#include "base/check.h"
#include "base/dispatch.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "base/op_scratch.h"
#include "drivers/contiguous.h"
#include "ops/grid_sample/grid_sample_kernel.h"

namespace repdl {
namespace {

/// What all three ops are called with.
struct Settings {
  std::string_view op;
  std::string_view mode, padding_mode;
  bool align_corners;

  GridMode Mode() const {
    return mode == "bilinear" ? GridMode::kLinear : mode == "nearest" ? GridMode::kNearest : GridMode::kCubic;
  }
  GridPadding Padding() const {
    return padding_mode == "zeros"    ? GridPadding::kZeros
           : padding_mode == "border" ? GridPadding::kBorder
                                      : GridPadding::kReflection;
  }
};

/// `like` is (n, c, …); sizes are those of the images.
void Check(const Settings& settings, const TensorView& grid, const TensorView& like, const IntList& sizes) {
  const std::string_view op = settings.op;
  const ArgName grid_name{op, "grid"};
  CheckFloat(grid_name, grid, like);
  CheckRank(grid_name, grid, like.rank(), like.rank(), "as many as the input");
  const int rank = grid.rank() - 2;
  REPDL_CHECK(grid.shape[0] == like.shape[0], grid_name, " of shape ", Name(grid.shape), " must be for a batch of ",
              like.shape[0]);
  REPDL_CHECK(grid.shape[rank + 1] == rank, grid_name, " of shape ", Name(grid.shape), " must have ", rank,
              " coordinates in its last dimension");
  REPDL_CHECK(sizes.size() == rank, ArgName{op, "input_size"}, " ", Name(sizes), " must have ", rank, " sizes");
  int64_t elements = 1;
  for (const int64_t size : sizes) {
    REPDL_CHECK(size > 0, "[", op, "] images of size ", Name(sizes), " are empty");
    REPDL_CHECK(size <= INT32_MAX / elements, "[", op, "] images of size ", Name(sizes),
                " have more than 2^31 - 1 elements, which is not supported");
    elements *= size;
  }
  const ArgName mode_name{op, "mode"}, padding_name{op, "padding_mode"};
  REPDL_CHECK(settings.mode == "bilinear" || settings.mode == "nearest" || settings.mode == "bicubic", mode_name,
              " must be 'bilinear', 'nearest' or 'bicubic', got '", settings.mode, "'");
  REPDL_CHECK(
      settings.padding_mode == "zeros" || settings.padding_mode == "border" || settings.padding_mode == "reflection",
      padding_name, " must be 'zeros', 'border' or 'reflection', got '", settings.padding_mode, "'");
}

void CheckImages(const ArgName& name, const TensorView& tensor) {
  CheckFloat(name, tensor, tensor);
  CheckRank(name, tensor, 4, 5, "(n, c, h, w) or (n, c, d, h, w)");
}

IntList SizesOf(const TensorView& input) { return IntList(std::span(input.shape.begin() + 2, input.shape.end())); }

/// (n, c), then the places of the grid.
IntList SampleShape(const TensorView& grid, int64_t channels) {
  IntList shape{grid.shape[0], channels};
  for (int i = 1; i + 1 < grid.rank(); ++i) shape.Append(grid.shape[i]);
  return shape;
}

template <class T>
GridSampleArgs<T> Args(const Settings& settings, const TensorView& grid, int64_t channels, const IntList& sizes,
                       OpScratch& scratch) {
  GridSampleArgs<T> args{};
  args.batch = grid.shape[0], args.channels = channels;
  args.rank = sizes.size();
  args.places = 1;
  for (int i = 0; i < args.rank; ++i) args.places *= grid.shape[1 + i];
  for (int d = 0; d < 3; ++d) args.sizes[d] = d < args.rank ? sizes[args.rank - 1 - d] : 1;
  args.mode = settings.Mode(), args.padding = settings.Padding(), args.align_corners = settings.align_corners;
  args.grid = Contiguous(grid, scratch).Data<const T>();
  return args;
}

}  // namespace

Specs InferGridSample(const TensorView& input, const TensorView& grid, std::string_view mode,
                      std::string_view padding_mode, bool align_corners) {
  CheckImages({"grid_sample", "input"}, input);
  Check({"grid_sample", mode, padding_mode, align_corners}, grid, input, SizesOf(input));
  return {{input.dtype, SampleShape(grid, input.shape[1])}};
}

void GridSample(const TensorView& input, const TensorView& grid, std::string_view mode, std::string_view padding_mode,
                bool align_corners, Out output) {
  const FpEnvGuard guard;
  CheckOutputs("grid_sample", InferGridSample(input, grid, mode, padding_mode, align_corners), {&output}, input);
  const Place place = PlaceOf("grid_sample", input);
  if (output.numel() == 0) return;
  DispatchReal(input.dtype, [&]<class T>() {
    OpScratch scratch(place);
    auto args =
        Args<T>({"grid_sample", mode, padding_mode, align_corners}, grid, input.shape[1], SizesOf(input), scratch);
    args.input = Contiguous(input, scratch).Data<const T>();
    args.output = output.Data<T>();
    GridSampleKernel(place, args);
  });
}

Specs InferGridSampleGradInput(const TensorView& grad_output, const TensorView& grid, const IntList& input_size,
                               std::string_view mode, std::string_view padding_mode, bool align_corners) {
  const ArgName name{"grid_sample_grad_input", "grad_output"};
  CheckImages(name, grad_output);
  Check({name.op, mode, padding_mode, align_corners}, grid, grad_output, input_size);
  CheckShape(name, grad_output, SampleShape(grid, grad_output.shape[1]));
  IntList shape{grad_output.shape[0], grad_output.shape[1]};
  for (const int64_t size : input_size) shape.Append(size);
  return {{grad_output.dtype, shape}};
}

void GridSampleGradInput(const TensorView& grad_output, const TensorView& grid, const IntList& input_size,
                         std::string_view mode, std::string_view padding_mode, bool align_corners, Out grad_input) {
  const FpEnvGuard guard;
  const std::string_view op = "grid_sample_grad_input";
  CheckOutputs(op, InferGridSampleGradInput(grad_output, grid, input_size, mode, padding_mode, align_corners),
               {&grad_input}, grad_output);
  const Place place = PlaceOf(op, grad_output);
  if (grad_input.numel() == 0) return;
  FillWithZero(place, grad_input);
  if (grad_output.numel() == 0) return;
  DispatchReal(grad_output.dtype, [&]<class T>() {
    OpScratch scratch(place);
    auto args = Args<T>({op, mode, padding_mode, align_corners}, grid, grad_output.shape[1], input_size, scratch);
    args.grad_output = Contiguous(grad_output, scratch).Data<const T>();
    args.grad_input = grad_input.Data<T>();
    GridSampleGradInputKernel(place, args);
  });
}

Specs InferGridSampleGradGrid(const TensorView& grad_output, const TensorView& input, const TensorView& grid,
                              std::string_view mode, std::string_view padding_mode, bool align_corners,
                              Order /*order*/) {
  const std::string_view op = "grid_sample_grad_grid";
  CheckImages({op, "input"}, input);
  Check({op, mode, padding_mode, align_corners}, grid, input, SizesOf(input));
  CheckFloat({op, "grad_output"}, grad_output, input);
  CheckShape({op, "grad_output"}, grad_output, SampleShape(grid, input.shape[1]));
  return {{grid.dtype, grid.shape}};
}

void GridSampleGradGrid(const TensorView& grad_output, const TensorView& input, const TensorView& grid,
                        std::string_view mode, std::string_view padding_mode, bool align_corners, Order order,
                        Out grad_grid) {
  const FpEnvGuard guard;
  const std::string_view op = "grid_sample_grad_grid";
  CheckOutputs(op, InferGridSampleGradGrid(grad_output, input, grid, mode, padding_mode, align_corners, order),
               {&grad_grid}, input);
  const Place place = PlaceOf(op, input);
  if (grad_grid.numel() == 0) return;
  DispatchReal(input.dtype, [&]<class T>() {
    OpScratch scratch(place);
    auto args = Args<T>({op, mode, padding_mode, align_corners}, grid, input.shape[1], SizesOf(input), scratch);
    args.order = order;
    args.input = Contiguous(input, scratch).Data<const T>();
    args.grad_output = Contiguous(grad_output, scratch).Data<const T>();
    args.grad_grid = grad_grid.Data<T>();
    GridSampleGradGridKernel(place, args);
  });
}

}  // namespace repdl

REPDL_OPS(grid_sample,
          MakeOp<InferGridSample, GridSample, GridSampleKernel>(
              "grid_sample", "input, grid, mode='bilinear', padding_mode='zeros', align_corners=False", kFloat32Or64),
          MakeOp<InferGridSampleGradInput, GridSampleGradInput, GridSampleGradInputKernel>(
              "grid_sample_grad_input",
              "grad_output, grid, input_size, mode='bilinear', padding_mode='zeros', align_corners=False",
              kFloat32Or64),
          MakeOp<InferGridSampleGradGrid, GridSampleGradGrid, GridSampleGradGridKernel>(
              "grid_sample_grad_grid",
              "grad_output, input, grid, mode='bilinear', padding_mode='zeros', align_corners=False, order='blocked'",
              kFloat32Or64))

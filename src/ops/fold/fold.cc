// SPDX-License-Identifier: MIT
#include "repdl/ops/fold.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/check.h"
#include "base/dispatch.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "base/op_scratch.h"
#include "drivers/contiguous.h"
#include "ops/fold/fold_kernel.h"

namespace repdl {
namespace {

constexpr int kMaxFolded = 3;

/// The terms of each row of a plane of the result, while they are listed.
class FoldList {
 public:
  /// Runs of the next terms; `first_run` of those is what it returns.
  int64_t NextRun() const { return static_cast<int64_t>(runs_.size()); }
  void AppendRun(const FoldRun& run) {
    if (run.count > 0) runs_.push_back(run);
  }
  void AppendTerm(int64_t row, int64_t first_run, int64_t end_run) {
    if (first_run < end_run) terms_.push_back({row, first_run, end_run});
  }
  void EndRow() { starts_.push_back(static_cast<int64_t>(terms_.size())); }

  /// Adds up; `args` has the sizes.
  template <class T>
  void Run(const Place& place, FoldArgs<T>& args, const TensorView& from, const TensorView& to) const {
    OpScratch scratch(place);
    args.starts = OnPlace(starts_.data(), static_cast<int64_t>(starts_.size()), scratch);
    args.terms = OnPlace(terms_.data(), static_cast<int64_t>(terms_.size()), scratch);
    args.runs = OnPlace(runs_.data(), NextRun(), scratch);
    args.input = Contiguous(from, scratch).Data<const T>();
    args.output = to.Data<T>();
    FoldKernel(place, args);
  }

 private:
  std::vector<int64_t> starts_{0};
  std::vector<FoldTerm> terms_;
  std::vector<FoldRun> runs_;
};

constexpr ArgName kFoldInput{"fold", "input"};

/// Along each of three dimensions; fewer lack the first ones, of which the kernel has one place.
struct FoldSizes {
  std::array<int64_t, kMaxFolded> size{1, 1, 1}, kernel{1, 1, 1}, stride{1, 1, 1}, padding{}, dilation{1, 1, 1},
      blocks{1, 1, 1};

  int64_t Kernels() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t Blocks() const { return blocks[0] * blocks[1] * blocks[2]; }
};

void CheckAxes(std::string_view name, const PerAxis& values, int rank, int64_t least) {
  const ArgName arg{"fold", name};
  REPDL_CHECK(values.size() == 1 || values.size() == rank, arg, " ", Name(values), " must have one number or ", rank);
  for (const int64_t value : values) {
    REPDL_CHECK(value >= least && value <= INT32_MAX, arg, " ", Name(values), " must be in [", least, ", 2^31)");
  }
}

FoldSizes CheckFold(const TensorView& input, const IntList& output_size, const PerAxis& kernel_size,
                    const PerAxis& stride, const PerAxis& padding, const PerAxis& dilation) {
  CheckFloat(kFoldInput, input, input);
  CheckRank(kFoldInput, input, 2, 3, "(n, channels · kernel places, blocks) or (channels · kernel places, blocks)");
  const int rank = output_size.size();
  const ArgName size_name{"fold", "output_size"};
  REPDL_CHECK(rank >= 1 && rank <= kMaxFolded, size_name, " ", Name(output_size),
              " must have a number for each of one to three dimensions");
  CheckAxes("output_size", PerAxis(output_size), rank, 1);
  CheckAxes("kernel_size", kernel_size, rank, 1);
  CheckAxes("stride", stride, rank, 1);
  CheckAxes("padding", padding, rank, 0);
  CheckAxes("dilation", dilation, rank, 1);
  FoldSizes sizes;
  const int64_t channels = input.shape[input.rank() - 2], given = input.shape[input.rank() - 1];
  int64_t kernels = 1, blocks = 1;
  for (int i = 0; i < rank; ++i) {
    const int axis = kMaxFolded - rank + i;
    sizes.size[axis] = output_size[i];
    sizes.kernel[axis] = kernel_size.At(i), sizes.stride[axis] = stride.At(i);
    sizes.padding[axis] = padding.At(i), sizes.dilation[axis] = dilation.At(i);
    const int64_t reach = output_size[i] + 2 * padding.At(i) - dilation.At(i) * (kernel_size.At(i) - 1) - 1;
    REPDL_CHECK(reach >= 0, size_name, " ", Name(output_size), " with padding is smaller than the kernel ",
                Name(kernel_size));
    sizes.blocks[axis] = reach / stride.At(i) + 1;
    kernels *= sizes.kernel[axis], blocks *= sizes.blocks[axis];
    REPDL_CHECK(kernels <= INT32_MAX && blocks <= INT32_MAX, size_name, " ", Name(output_size), " and kernel_size ",
                Name(kernel_size), " have more than 2^31 - 1 places, which is not supported");
  }
  REPDL_CHECK(channels % kernels == 0, kFoldInput, " of shape ", Name(input.shape), " must have a multiple of the ",
              kernels, " places of the kernel in dimension ", input.rank() - 2);
  REPDL_CHECK(given == blocks, kFoldInput, " of shape ", Name(input.shape), " must have ", blocks,
              " blocks in its last dimension, as output_size, kernel_size, stride, padding and dilation say");
  return sizes;
}

IntList Folded(const TensorView& input, const IntList& output_size, const FoldSizes& sizes) {
  IntList shape;
  if (input.rank() == 3) shape.Append(input.shape[0]);
  shape.Append(input.shape[input.rank() - 2] / sizes.Kernels());
  for (const int64_t size : output_size) shape.Append(size);
  return shape;
}

/// The blocks along an axis at which place u of the kernel is inside: [first, end).
struct Blocks {
  int64_t first, end;
  Blocks(const FoldSizes& sizes, int axis, int64_t u) {
    const int64_t offset = u * sizes.dilation[axis] - sizes.padding[axis], stride = sizes.stride[axis];
    first = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
    end = offset >= sizes.size[axis] ? 0 : std::min((sizes.size[axis] - 1 - offset) / stride + 1, sizes.blocks[axis]);
  }
};

/// Of each place of an axis, the places of the kernel that meet it, and at which block.
std::vector<std::vector<std::array<int64_t, 2>>> Meetings(const FoldSizes& sizes, int axis) {
  std::vector<std::vector<std::array<int64_t, 2>>> met(static_cast<size_t>(sizes.size[axis]));
  for (int64_t u = 0; u < sizes.kernel[axis]; ++u) {
    const Blocks blocks(sizes, axis, u);
    for (int64_t k = blocks.first; k < blocks.end; ++k) {
      met[k * sizes.stride[axis] - sizes.padding[axis] + u * sizes.dilation[axis]].push_back({u, k});
    }
  }
  return met;
}

constexpr ArgName kUnfolded{"unfold_grad", "grad_output"};
constexpr ArgName kPadded{"pad_grad", "grad_output"}, kPadding{"pad_grad", "padding"};

/// Before and after a dimension.
struct Pads {
  int64_t before, after;
};

/// Of each element along a dimension its copies among the padded ones, as runs: those that fall to descending or to one and
/// the same element are before or behind those that are the elements themselves.
std::vector<FoldRun> CopyRuns(int64_t padded, const Pads& pads, bool reflects) {
  const int64_t size = padded - pads.before - pads.after;
  const int64_t before = std::clamp<int64_t>(pads.before, 0, padded),
                after = std::clamp<int64_t>(pads.after, 0, padded);
  std::vector<FoldRun> runs;
  if (before > 0) runs.push_back({0, reflects ? before : 0, before, reflects ? -1 : 0});
  // Negative padding cut elements off, all of them perhaps.
  const int64_t first = std::max<int64_t>(-pads.before, 0), last = size - std::max<int64_t>(-pads.after, 0);
  if (last > first) runs.push_back({before, first, last - first, 1});
  if (after > 0) runs.push_back({padded - after, reflects ? size - 2 : size - 1, after, reflects ? -1 : 0});
  return runs;
}

struct PadSizes {
  int first, rank;
  IntList shape;  // of the result
  bool reflects;

  Pads At(const IntList& padding, int i) const { return {padding[2 * i], padding[2 * i + 1]}; }
};

PadSizes CheckPadGrad(const TensorView& grad_output, const IntList& padding, std::string_view mode, int64_t dim) {
  CheckFloat(kPadded, grad_output, grad_output);
  PadSizes sizes{CheckDim({"pad_grad", "dim"}, dim, grad_output.rank()), padding.size() / 2, grad_output.shape,
                 mode == "reflect"};
  REPDL_CHECK(sizes.reflects || mode == "replicate", ArgName{"pad_grad", "mode"},
              " must be 'reflect' or 'replicate', got '", mode, "'");
  REPDL_CHECK(padding.size() % 2 == 0 && sizes.rank >= 1 && sizes.rank <= kMaxFolded, kPadding, " ", Name(padding),
              " must have two numbers for each of one to three dimensions");
  REPDL_CHECK(sizes.first + sizes.rank <= grad_output.rank(), kPadded, " of shape ", Name(grad_output.shape),
              " has fewer than ", sizes.rank, " dimensions from dimension ", sizes.first, " on");
  for (int i = 0; i < sizes.rank; ++i) {
    const Pads pads = sizes.At(padding, i);
    for (const int64_t pad : {pads.before, pads.after}) {
      REPDL_CHECK(pad >= -INT32_MAX && pad <= INT32_MAX, kPadding, " ", Name(padding), " must be in (-2^31, 2^31)");
    }
    int64_t& size = sizes.shape[sizes.first + i];
    size -= pads.before + pads.after;
    REPDL_CHECK(size >= 1, kPadded, " of shape ", Name(grad_output.shape), " is too small for the padding ",
                Name(padding), " of at least one element");
    REPDL_CHECK(!sizes.reflects || (pads.before < size && pads.after < size), kPadding, " ", Name(padding),
                " must be smaller than the size ", size, " that it reflects");
    REPDL_CHECK(!sizes.reflects || (-pads.before < size && -pads.after < size), kPadding, " ", Name(padding),
                " leaves nothing of a size of ", size, " that it reflects");
  }
  return sizes;
}

}  // namespace

Specs InferFold(const TensorView& input, const IntList& output_size, const PerAxis& kernel_size, const PerAxis& stride,
                const PerAxis& padding, const PerAxis& dilation) {
  const FoldSizes sizes = CheckFold(input, output_size, kernel_size, stride, padding, dilation);
  return {{input.dtype, Folded(input, output_size, sizes)}};
}

void Fold(const TensorView& input, const IntList& output_size, const PerAxis& kernel_size, const PerAxis& stride,
          const PerAxis& padding, const PerAxis& dilation, Out output) {
  const FpEnvGuard guard;
  const FoldSizes sizes = CheckFold(input, output_size, kernel_size, stride, padding, dilation);
  CheckOutputs("fold", {{input.dtype, Folded(input, output_size, sizes)}}, {&output}, input);
  const Place place = PlaceOf("fold", input);
  if (output.numel() == 0) return;
  FoldList list;
  std::vector<std::array<int64_t, 2>> runs;  // of each column of the kernel
  for (int64_t v = 0; v < sizes.kernel[2]; ++v) {
    const Blocks blocks(sizes, 2, v);
    const int64_t first = list.NextRun();
    list.AppendRun({blocks.first, blocks.first * sizes.stride[2] - sizes.padding[2] + v * sizes.dilation[2],
                    blocks.end - blocks.first, sizes.stride[2]});
    runs.push_back({first, list.NextRun()});
  }
  const auto deep = Meetings(sizes, 0), high = Meetings(sizes, 1);
  for (int64_t d = 0; d < sizes.size[0]; ++d) {
    for (int64_t h = 0; h < sizes.size[1]; ++h) {
      for (const auto& [t, i] : deep[d]) {
        for (const auto& [u, j] : high[h]) {
          for (int64_t v = 0; v < sizes.kernel[2]; ++v) {
            const int64_t kernel = (t * sizes.kernel[1] + u) * sizes.kernel[2] + v;
            list.AppendTerm((kernel * sizes.blocks[0] + i) * sizes.blocks[1] + j, runs[v][0], runs[v][1]);
          }
        }
      }
      list.EndRow();
    }
  }
  DispatchReal(input.dtype, [&]<class T>() {
    FoldArgs<T> args{};
    args.out_rows = sizes.size[0] * sizes.size[1], args.out_width = sizes.size[2];
    args.planes = output.numel() / (args.out_rows * args.out_width), args.inner = 1;
    args.in_rows = sizes.Kernels() * sizes.blocks[0] * sizes.blocks[1], args.in_width = sizes.blocks[2];
    list.Run(place, args, input, output);
  });
}

Specs InferUnfoldGrad(const TensorView& grad_output, int64_t length, int64_t step) {
  CheckFloat(kUnfolded, grad_output, grad_output);
  const int rank = grad_output.rank();
  CheckRank(kUnfolded, grad_output, 2, kMaxRank, "(…, windows, size)");
  REPDL_CHECK(step >= 1 && step <= INT32_MAX, ArgName{"unfold_grad", "step"}, " must be in [1, 2^31), got ", step);
  const int64_t windows = grad_output.shape[rank - 2], size = grad_output.shape[rank - 1];
  REPDL_CHECK(length >= 0 && (windows == 0 || (windows - 1 <= length / step && (windows - 1) * step + size <= length)),
              kUnfolded, " has ", windows, " windows of size ", size, ", which do not fit into the length ", length);
  IntList shape(std::span(grad_output.shape.begin(), grad_output.shape.end() - 1));
  shape[rank - 2] = length;
  REPDL_CHECK(IsCountable(grad_output.dtype, shape), ArgName{"unfold_grad", "length"}, " is ", length,
              ", which makes a result whose elements cannot be counted in 64 bits; use a smaller one");
  return {{grad_output.dtype, shape}};
}

void UnfoldGrad(const TensorView& grad_output, int64_t length, int64_t step, Out grad_input) {
  const FpEnvGuard guard;
  CheckOutputs("unfold_grad", InferUnfoldGrad(grad_output, length, step), {&grad_input}, grad_output);
  const Place place = PlaceOf("unfold_grad", grad_output);
  if (grad_input.numel() == 0) return;
  const int64_t windows = grad_output.shape[grad_output.rank() - 2];
  const int64_t size = grad_output.shape[grad_output.rank() - 1];
  FoldList list;
  for (int64_t k = 0; k < windows; ++k) {
    const int64_t first = list.NextRun();
    list.AppendRun({0, k * step, size, 1});
    list.AppendTerm(k, first, list.NextRun());
  }
  list.EndRow();
  DispatchReal(grad_output.dtype, [&]<class T>() {
    FoldArgs<T> args{};
    args.planes = grad_input.numel() / length, args.inner = 1;
    args.in_rows = windows, args.in_width = size;
    args.out_rows = 1, args.out_width = length;
    list.Run(place, args, grad_output, grad_input);
  });
}

Specs InferPadGrad(const TensorView& grad_output, const IntList& padding, std::string_view mode, int64_t dim) {
  return {{grad_output.dtype, CheckPadGrad(grad_output, padding, mode, dim).shape}};
}

void PadGrad(const TensorView& grad_output, const IntList& padding, std::string_view mode, int64_t dim,
             Out grad_input) {
  const FpEnvGuard guard;
  const PadSizes sizes = CheckPadGrad(grad_output, padding, mode, dim);
  CheckOutputs("pad_grad", {{grad_output.dtype, sizes.shape}}, {&grad_input}, grad_output);
  const Place place = PlaceOf("pad_grad", grad_output);
  if (grad_input.numel() == 0) return;
  // Depth, height and width; fewer lack the first ones.
  std::array<int64_t, kMaxFolded> in{1, 1, 1}, out{1, 1, 1};
  std::array<std::vector<std::vector<int64_t>>, 2> copies{{{{0}}, {{0}}}};
  FoldList list;
  for (int i = 0; i < sizes.rank; ++i) {
    const int axis = kMaxFolded - sizes.rank + i;
    in[axis] = grad_output.shape[sizes.first + i], out[axis] = sizes.shape[sizes.first + i];
    const std::vector<FoldRun> runs = CopyRuns(in[axis], sizes.At(padding, i), sizes.reflects);
    if (axis == kMaxFolded - 1) {
      for (const FoldRun& run : runs) list.AppendRun(run);
      continue;
    }
    copies[axis].assign(static_cast<size_t>(out[axis]), {});
    for (const FoldRun& run : runs) {
      for (int64_t k = 0; k < run.count; ++k) copies[axis][run.to + k * run.step].push_back(run.from + k);
    }
  }
  for (const auto& deep : copies[0]) {
    for (const auto& high : copies[1]) {
      for (const int64_t d : deep) {
        for (const int64_t h : high) list.AppendTerm(d * in[1] + h, 0, list.NextRun());
      }
      list.EndRow();
    }
  }
  DispatchReal(grad_output.dtype, [&]<class T>() {
    FoldArgs<T> args{};
    args.planes = args.inner = 1;
    for (int i = 0; i < sizes.first; ++i) args.planes *= sizes.shape[i];
    for (int i = sizes.first + sizes.rank; i < sizes.shape.size(); ++i) args.inner *= sizes.shape[i];
    args.in_rows = in[0] * in[1], args.in_width = in[2];
    args.out_rows = out[0] * out[1], args.out_width = out[2];
    list.Run(place, args, grad_output, grad_input);
  });
}

}  // namespace repdl

REPDL_OPS(fold,
          MakeOp<InferFold, Fold, FoldKernel>("fold",
                                              "input, output_size, kernel_size, stride=1, padding=0, dilation=1",
                                              kFloat32Or64),
          MakeOp<InferPadGrad, PadGrad, FoldKernel>("pad_grad", "grad_output, padding, mode='reflect', dim=2",
                                                    kFloat32Or64),
          MakeOp<InferUnfoldGrad, UnfoldGrad, FoldKernel>("unfold_grad", "grad_output, length, step", kFloat32Or64))

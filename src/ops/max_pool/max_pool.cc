// SPDX-License-Identifier: MIT
#include "repdl/ops/max_pool.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/check.h"
#include "base/dispatch.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "base/op_scratch.h"
#include "drivers/contiguous.h"
#include "ops/max_pool/max_pool_kernel.h"

namespace repdl {
namespace {

constexpr int kMaxPooled = 3;

/// Which dimensions an op pools.
struct Pooled {
  std::string_view op;
  int first = 0, rank = 0;

  ArgName Name(std::string_view arg) const { return {op, arg}; }
  int64_t Planes(const TensorView& tensor) const {
    int64_t planes = 1;
    for (int i = 0; i < first; ++i) planes *= tensor.shape[i];
    return planes;
  }
  int64_t Inner(const TensorView& tensor) const {
    int64_t inner = 1;
    for (int i = first + rank; i < tensor.rank(); ++i) inner *= tensor.shape[i];
    return inner;
  }
  /// Elements of a plane, of one inner number.
  int64_t Places(const TensorView& tensor) const {
    int64_t places = 1;
    for (int i = 0; i < rank; ++i) places *= tensor.shape[first + i];
    return places;
  }
  IntList With(const TensorView& tensor, const IntList& sizes) const {
    IntList shape = tensor.shape;
    for (int i = 0; i < rank; ++i) shape[first + i] = sizes[i];
    return shape;
  }
};

/// `sizes`, named `sizes_name`, has a number for each pooled dimension.
Pooled CheckPooled(std::string_view op, std::string_view arg, const TensorView& tensor, std::string_view sizes_name,
                   const IntList& sizes, int64_t dim) {
  Pooled pooled{op};
  pooled.rank = sizes.size();
  CheckFloat(pooled.Name(arg), tensor, tensor);
  REPDL_CHECK(pooled.rank >= 1 && pooled.rank <= kMaxPooled, pooled.Name(sizes_name), " ", Name(sizes),
              " must have a number for each of one to three dimensions");
  pooled.first = CheckDim(pooled.Name("dim"), dim, tensor.rank());
  REPDL_CHECK(pooled.first + pooled.rank <= tensor.rank(), pooled.Name(arg), " of shape ", Name(tensor.shape),
              " has fewer than ", pooled.rank, " dimensions from dimension ", pooled.first, " on");
  return pooled;
}

void CheckSizes(const Pooled& pooled, std::string_view name, const IntList& sizes) {
  int64_t places = 1;
  for (const int64_t size : sizes) {
    REPDL_CHECK(size >= 0, pooled.Name(name), " ", Name(sizes), " has a negative size");
    REPDL_CHECK(size <= INT32_MAX && (places *= std::max<int64_t>(size, 1)) <= INT32_MAX, pooled.Name(name), " ",
                Name(sizes), " has more than 2^31 - 1 places, which is not supported");
  }
}

struct Settings {
  const IntList& kernel_size;
  const PerAxis& stride;
  const PerAxis& padding;
  const PerAxis& dilation;
  bool ceil_mode;

  int64_t Stride(int i) const { return stride.At(i) == 0 ? kernel_size[i] : stride.At(i); }

  /// Number of windows along a dimension, as torch counts them.
  int64_t Count(int64_t size, int i) const {
    const int64_t reach =
        size + 2 * padding.At(i) - dilation.At(i) * (kernel_size[i] - 1) - 1 + (ceil_mode ? Stride(i) - 1 : 0);
    if (reach < 0) return 0;
    const int64_t count = reach / Stride(i) + 1;
    // The last window must start inside the image or its left padding.
    return ceil_mode && (count - 1) * Stride(i) >= size + padding.At(i) ? count - 1 : count;
  }
};

void CheckAxes(const ArgName& name, const PerAxis& values, int rank, int64_t least) {
  REPDL_CHECK(values.size() == 1 || values.size() == rank, name, " ", Name(values), " must have one number or ", rank);
  for (const int64_t value : values) {
    REPDL_CHECK(value >= least, name, " must be at least ", least, ", got ", Name(values));
    REPDL_CHECK(value <= INT32_MAX, name, " must be at most ", INT32_MAX, ", got ", Name(values));
  }
}

void CheckSettings(const Pooled& pooled, const Settings& settings) {
  const int rank = pooled.rank;
  const ArgName kernel_name = pooled.Name("kernel_size"), stride_name = pooled.Name("stride");
  CheckAxes(kernel_name, PerAxis(settings.kernel_size), rank, 1);
  CheckAxes(stride_name, settings.stride, rank, 0);
  CheckAxes(pooled.Name("padding"), settings.padding, rank, 0);
  CheckAxes(pooled.Name("dilation"), settings.dilation, rank, 1);
  // A single zero would be a mistake, where all zeros mean the default.
  const bool none = std::all_of(settings.stride.begin(), settings.stride.end(), [](int64_t s) { return s == 0; });
  REPDL_CHECK(none || std::find(settings.stride.begin(), settings.stride.end(), 0) == settings.stride.end(),
              stride_name, " must be at least 1, got ", Name(settings.stride));
  int64_t places = 1;
  for (int i = 0; i < rank; ++i) {
    REPDL_CHECK(2 * settings.padding.At(i) <= settings.kernel_size[i], pooled.Name("padding"), " ",
                Name(settings.padding), " must be at most half the kernel size ", Name(settings.kernel_size));
    places *= settings.kernel_size[i];
    REPDL_CHECK(places <= INT32_MAX, kernel_name, " ", Name(settings.kernel_size),
                " has more than 2^31 - 1 places, which is not supported");
  }
}

/// The memory of the windows along an axis.
struct WindowList {
  std::vector<int64_t> first{0}, count{1};
  int64_t size = 1, step = 1;

  void Clear() { first.clear(), count.clear(); }
  void Append(int64_t begin, int64_t number) { first.push_back(begin), count.push_back(number); }
  PoolWindows On(OpScratch& scratch) const {
    const auto windows = static_cast<int64_t>(first.size());
    return {size, windows, OnPlace(first.data(), windows, scratch), OnPlace(count.data(), windows, scratch), step};
  }
};
/// Depth, height and width; fewer pooled dimensions lack the first ones.
using WindowLists = std::array<WindowList, kMaxPooled>;

WindowLists ListWindows(const TensorView& input, const Pooled& pooled, const Settings& settings) {
  WindowLists lists;
  for (int i = 0; i < pooled.rank; ++i) {
    WindowList& list = lists[kMaxPooled - pooled.rank + i];
    const int64_t size = input.shape[pooled.first + i], step = settings.dilation.At(i);
    list.Clear();
    list.size = size, list.step = step;
    for (int64_t k = 0; k < settings.Count(size, i); ++k) {
      const int64_t begin = k * settings.Stride(i) - settings.padding.At(i);
      const int64_t last = std::min(begin + (settings.kernel_size[i] - 1) * step, size - 1);
      const int64_t first = begin >= 0 ? begin : begin + (-begin + step - 1) / step * step;
      first <= last ? list.Append(first, (last - first) / step + 1) : list.Append(size, 0);
    }
  }
  return lists;
}

WindowLists ListParts(const TensorView& input, const Pooled& pooled, const IntList& parts) {
  WindowLists lists;
  for (int i = 0; i < pooled.rank; ++i) {
    WindowList& list = lists[kMaxPooled - pooled.rank + i];
    const int64_t size = input.shape[pooled.first + i];
    list.Clear();
    list.size = size;
    for (int64_t k = 0; k < parts[i]; ++k) {
      const int64_t begin = k * size / parts[i], end = ((k + 1) * size + parts[i] - 1) / parts[i];
      list.Append(begin, end - begin);
    }
  }
  return lists;
}

/// Of windows that differ in their place alone `settings` says how.
void Run(const Place& place, const TensorView& input, const Pooled& pooled, const WindowLists& lists,
         const Settings* settings, const TensorView& output, const TensorView& indices) {
  DispatchReal(input.dtype, [&]<class T>() {
    OpScratch scratch(place);
    MaxPoolArgs<T> args{};
    args.planes = pooled.Planes(input), args.inner = pooled.Inner(input);
    for (int i = 0; i < kMaxPooled; ++i) args.axes[i] = lists[i].On(scratch);
    if (settings != nullptr) {
      const int last = pooled.rank - 1;
      args.kernel = settings->kernel_size[last], args.padding = settings->padding.At(last);
      // The stride to a second column of windows that is not there would only cost room.
      args.stride = args.axes[2].windows == 1 ? 1 : settings->Stride(last);
    }
    args.input = Contiguous(input, scratch).Data<const T>();
    args.output = output.Data<T>();
    args.indices = indices.Data<int64_t>();
    MaxPoolKernel(place, args);
  });
}

Pooled CheckMaxPool(std::string_view op, const TensorView& input, const Settings& settings, int64_t dim) {
  const Pooled pooled = CheckPooled(op, "input", input, "kernel_size", settings.kernel_size, dim);
  CheckSettings(pooled, settings);
  return pooled;
}

Specs InferWindows(const Pooled& pooled, const TensorView& input, const Settings& settings) {
  IntList sizes, windows;
  for (int i = 0; i < pooled.rank; ++i) {
    sizes.Append(input.shape[pooled.first + i]);
    windows.Append(settings.Count(sizes[i], i));
  }
  CheckSizes(pooled, "input", sizes);
  REPDL_CHECK(std::find(windows.begin(), windows.end(), 0) == windows.end(), pooled.Name("input"), " of shape ",
              Name(input.shape), " is smaller than the window ", Name(settings.kernel_size));
  const IntList shape = pooled.With(input, windows);
  return {{input.dtype, shape}, {DType::kInt64, shape}};
}

void RunWindows(const Pooled& pooled, const TensorView& input, const Settings& settings, const TensorView& output,
                const TensorView& indices) {
  const Place place = PlaceOf(pooled.op, input);
  if (output.numel() == 0) return;
  Run(place, input, pooled, ListWindows(input, pooled, settings), &settings, output, indices);
}

/// Of an op that gives elements back to their places: `from` and `indices` have windows, the result `sizes`.
Pooled CheckUnpool(std::string_view op, std::string_view arg, const TensorView& from, const TensorView& indices,
                   std::string_view sizes_name, const IntList& sizes, int64_t dim) {
  const Pooled pooled = CheckPooled(op, arg, from, sizes_name, sizes, dim);
  CheckDType(pooled.Name("indices"), indices, DType::kInt64);
  CheckSameDevice(pooled.Name("indices"), indices, from);
  CheckShape(pooled.Name("indices"), indices, from.shape);
  CheckSizes(pooled, sizes_name, sizes);
  return pooled;
}

template <class Kernel>
void RunUnpool(const Kernel& kernel, const Pooled& pooled, const TensorView& from, const TensorView& indices,
               const IntList& sizes, const TensorView& to) {
  const Place place = PlaceOf(pooled.op, from);
  // An empty plane still has no place for an index to name.
  if (to.numel() == 0 && indices.numel() == 0) return;
  DispatchReal(from.dtype, [&]<class T>() {
    OpScratch scratch(place);
    int32_t bad_index = 0;  // for the CPU
    UnpoolArgs<T> args{};
    args.planes = pooled.Planes(from), args.inner = pooled.Inner(from);
    args.windows = pooled.Places(from), args.places = pooled.Places(to);
    args.input = Contiguous(from, scratch).Data<const T>();
    args.indices = Contiguous(indices, scratch).Data<const int64_t>();
    args.output = to.Data<T>();
    args.bad_index = &bad_index;
    kernel(place, args);
    REPDL_CHECK(bad_index == 0, pooled.Name("indices"), " holds a number that is not a place among ", Name(sizes));
  });
}

IntList List(IntPair pair) { return {pair.h, pair.w}; }

Pooled CheckMaxPool2d(const TensorView& input, const Settings& settings) {
  CheckRank({"max_pool2d", "input"}, input, 3, 4, "(n, c, h, w) or (c, h, w)");
  return CheckMaxPool("max_pool2d", input, settings, -2);
}

}  // namespace

Specs InferMaxPool(const TensorView& input, const IntList& kernel_size, const PerAxis& stride, const PerAxis& padding,
                   const PerAxis& dilation, bool ceil_mode, int64_t dim) {
  const Settings settings{kernel_size, stride, padding, dilation, ceil_mode};
  return InferWindows(CheckMaxPool("max_pool", input, settings, dim), input, settings);
}

void MaxPool(const TensorView& input, const IntList& kernel_size, const PerAxis& stride, const PerAxis& padding,
             const PerAxis& dilation, bool ceil_mode, int64_t dim, Out output, Out indices) {
  const FpEnvGuard guard;
  CheckOutputs("max_pool", InferMaxPool(input, kernel_size, stride, padding, dilation, ceil_mode, dim),
               {&output, &indices}, input);
  const Settings settings{kernel_size, stride, padding, dilation, ceil_mode};
  RunWindows(CheckMaxPool("max_pool", input, settings, dim), input, settings, output, indices);
}

Specs InferMaxPoolGrad(const TensorView& grad_output, const TensorView& indices, const IntList& input_size,
                       int64_t dim) {
  const Pooled pooled =
      CheckUnpool("max_pool_grad", "grad_output", grad_output, indices, "input_size", input_size, dim);
  return {{grad_output.dtype, pooled.With(grad_output, input_size)}};
}

void MaxPoolGrad(const TensorView& grad_output, const TensorView& indices, const IntList& input_size, int64_t dim,
                 Out grad_input) {
  const FpEnvGuard guard;
  CheckOutputs("max_pool_grad", InferMaxPoolGrad(grad_output, indices, input_size, dim), {&grad_input}, grad_output);
  const Pooled pooled{"max_pool_grad", CheckDim({"max_pool_grad", "dim"}, dim, grad_output.rank()), input_size.size()};
  RunUnpool(MaxPoolGradKernel, pooled, grad_output, indices, input_size, grad_input);
}

Specs InferAdaptiveMaxPool(const TensorView& input, const IntList& output_size, int64_t dim) {
  const Pooled pooled = CheckPooled("adaptive_max_pool", "input", input, "output_size", output_size, dim);
  CheckSizes(pooled, "output_size", output_size);
  IntList sizes;
  for (int i = 0; i < pooled.rank; ++i) {
    sizes.Append(input.shape[pooled.first + i]);
    REPDL_CHECK(sizes[i] > 0, pooled.Name("input"), " of shape ", Name(input.shape),
                " has a size of 0 in a pooled dimension, which has no largest element");
  }
  CheckSizes(pooled, "input", sizes);
  const IntList shape = pooled.With(input, output_size);
  return {{input.dtype, shape}, {DType::kInt64, shape}};
}

void AdaptiveMaxPool(const TensorView& input, const IntList& output_size, int64_t dim, Out output, Out indices) {
  const FpEnvGuard guard;
  CheckOutputs("adaptive_max_pool", InferAdaptiveMaxPool(input, output_size, dim), {&output, &indices}, input);
  const Place place = PlaceOf("adaptive_max_pool", input);
  if (output.numel() == 0) return;
  const Pooled pooled = CheckPooled("adaptive_max_pool", "input", input, "output_size", output_size, dim);
  Run(place, input, pooled, ListParts(input, pooled, output_size), nullptr, output, indices);
}

Specs InferMaxUnpool(const TensorView& input, const TensorView& indices, const IntList& output_size, int64_t dim) {
  const Pooled pooled = CheckUnpool("max_unpool", "input", input, indices, "output_size", output_size, dim);
  return {{input.dtype, pooled.With(input, output_size)}};
}

void MaxUnpool(const TensorView& input, const TensorView& indices, const IntList& output_size, int64_t dim,
               Out output) {
  const FpEnvGuard guard;
  CheckOutputs("max_unpool", InferMaxUnpool(input, indices, output_size, dim), {&output}, input);
  const Pooled pooled{"max_unpool", CheckDim({"max_unpool", "dim"}, dim, input.rank()), output_size.size()};
  RunUnpool(MaxUnpoolKernel, pooled, input, indices, output_size, output);
}

Specs InferMaxPool2d(const TensorView& input, IntPair kernel_size, IntPair stride, IntPair padding, IntPair dilation,
                     bool ceil_mode) {
  const IntList kernel = List(kernel_size);
  const PerAxis strides(stride), paddings(padding), dilations(dilation);
  const Settings settings{kernel, strides, paddings, dilations, ceil_mode};
  return InferWindows(CheckMaxPool2d(input, settings), input, settings);
}

void MaxPool2d(const TensorView& input, IntPair kernel_size, IntPair stride, IntPair padding, IntPair dilation,
               bool ceil_mode, Out output, Out indices) {
  const FpEnvGuard guard;
  CheckOutputs("max_pool2d", InferMaxPool2d(input, kernel_size, stride, padding, dilation, ceil_mode),
               {&output, &indices}, input);
  const IntList kernel = List(kernel_size);
  const PerAxis strides(stride), paddings(padding), dilations(dilation);
  const Settings settings{kernel, strides, paddings, dilations, ceil_mode};
  RunWindows(CheckMaxPool2d(input, settings), input, settings, output, indices);
}

Specs InferMaxPool2dGrad(const TensorView& grad_output, const TensorView& indices, const IntList& input_shape) {
  const ArgName name{"max_pool2d_grad", "grad_output"}, shape_name{"max_pool2d_grad", "input_shape"};
  CheckFloat(name, grad_output, grad_output);
  CheckRank(name, grad_output, 3, 4, "(n, c, p, q) or (c, p, q)");
  const int rank = grad_output.rank();
  REPDL_CHECK(
      input_shape.size() == rank && std::equal(input_shape.begin(), input_shape.end() - 2, grad_output.shape.begin()),
      shape_name, " ", Name(input_shape), " must have the leading dimensions of grad_output, ",
      Name(grad_output.shape));
  CheckUnpool("max_pool2d_grad", "grad_output", grad_output, indices, "input_shape",
              {input_shape[rank - 2], input_shape[rank - 1]}, -2);
  return {{grad_output.dtype, input_shape}};
}

void MaxPool2dGrad(const TensorView& grad_output, const TensorView& indices, const IntList& input_shape,
                   Out grad_input) {
  const FpEnvGuard guard;
  CheckOutputs("max_pool2d_grad", InferMaxPool2dGrad(grad_output, indices, input_shape), {&grad_input}, grad_output);
  const int first = grad_output.rank() - 2;
  RunUnpool(MaxPoolGradKernel, {"max_pool2d_grad", first, 2}, grad_output, indices,
            {input_shape[first], input_shape[first + 1]}, grad_input);
}

}  // namespace repdl

REPDL_OPS(max_pool,
          MakeOp<InferAdaptiveMaxPool, AdaptiveMaxPool, MaxPoolKernel>("adaptive_max_pool", "input, output_size, dim=2",
                                                                       kFloat32Or64),
          MakeOp<InferMaxPool, MaxPool, MaxPoolKernel>(
              "max_pool", "input, kernel_size, stride=0, padding=0, dilation=1, ceil_mode=False, dim=2", kFloat32Or64),
          MakeOp<InferMaxPoolGrad, MaxPoolGrad, MaxPoolGradKernel>("max_pool_grad",
                                                                   "grad_output, indices, input_size, dim=2",
                                                                   kFloat32Or64),
          MakeOp<InferMaxUnpool, MaxUnpool, MaxUnpoolKernel>("max_unpool", "input, indices, output_size, dim=2",
                                                             kFloat32Or64),
          MakeOp<InferMaxPool2d, MaxPool2d, MaxPoolKernel>(
              "max_pool2d", "input, kernel_size, stride=0, padding=0, dilation=1, ceil_mode=False", kFloat32Or64),
          MakeOp<InferMaxPool2dGrad, MaxPool2dGrad, MaxPoolGradKernel>("max_pool2d_grad",
                                                                       "grad_output, indices, input_shape",
                                                                       kFloat32Or64))

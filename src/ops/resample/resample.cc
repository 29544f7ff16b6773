// SPDX-License-Identifier: MIT
#include "repdl/ops/resample.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/dispatch.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "base/op_scratch.h"
#include "drivers/contiguous.h"
#include "numerics/accurate.h"
#include "ops/resample/resample_kernel.h"

namespace repdl {
namespace {

constexpr int kMaxResized = 3;

using Factors = std::array<std::optional<double>, kMaxResized>;

enum class Mode { kLinear, kCubic, kLanczos, kNearest, kNearestExact };

/// What decides the neighbours of an element, but for the sizes.
struct Filter {
  Mode mode;
  bool antialias, align_corners;

  bool cubic() const { return mode == Mode::kCubic; }
  bool nearest() const { return mode == Mode::kNearest || mode == Mode::kNearestExact; }

  /// Whether a dimension of this size stays as it is.
  bool Keeps(int64_t size, int64_t new_size, bool has_factor) const {
    return size == new_size && (nearest() ? !has_factor : !cubic() || antialias);
  }
};

/// The distance in the operand between neighbours of the result.
double Scale(int64_t size, int64_t new_size, bool align_corners, std::optional<double> factor) {
  if (align_corners) {
    return new_size > 1 ? static_cast<double>(size - 1) / static_cast<double>(new_size - 1) : 0.0;
  }
  if (factor && *factor > 0) return 1.0 / *factor;
  return static_cast<double>(size) / static_cast<double>(new_size);
}

double Near(double x, double a) { return ((a + 2) * x - (a + 3)) * x * x + 1; }
double Far(double x, double a) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; }

/// sinc(x) sinc(x / 3) with sinc(x) = sin(πx) / πx, of a distance below 3.
double Lanczos(double x) {
  constexpr double kPiSquared = 9.869604401089358;
  if (x == 0) return 1;
  return 3 * (accurate::SinPi(x) * accurate::SinPi(x / 3)) / (kPiSquared * (x * x));
}

/// How far a neighbour may be that has a weight.
double Reach(Mode mode) { return mode == Mode::kLinear ? 1 : mode == Mode::kCubic ? 2 : 3; }

double Smooth(double x, Mode mode) {
  x = x < 0 ? -x : x;
  if (mode == Mode::kLinear) return std::max(1 - x, 0.0);
  if (mode == Mode::kLanczos) return x < 3 ? Lanczos(x) : 0.0;
  return x < 1 ? Near(x, -0.5) : x < 2 ? Far(x, -0.5) : 0.0;
}

template <class T>
void AppendSmooth(int64_t i, double scale, int64_t size, Mode mode, WeightedSumList<T>& list) {
  const double stretch = std::max(scale, 1.0), reach = Reach(mode) * stretch;
  const double centre = (static_cast<double>(i) + 0.5) * scale;
  const int64_t first = std::max<int64_t>(static_cast<int64_t>(centre - reach + 0.5), 0);
  const int64_t end = std::min<int64_t>(static_cast<int64_t>(centre + reach + 0.5), size);
  const auto weight = [&](int64_t j) { return Smooth((static_cast<double>(j) - centre + 0.5) / stretch, mode); };
  double total = 0;
  for (int64_t j = first; j < end; ++j) total = total + weight(j);
  for (int64_t j = first; j < end; ++j) list.Append(j, total == 0 ? weight(j) : weight(j) / total);
}

/// The places are steps in binary32, as in torch, so that its results are these.
template <class T>
void AppendNearest(bool exact, int64_t size, int64_t new_size, std::optional<double> factor, WeightedSumList<T>& list) {
  const float quotient = static_cast<float>(size) / static_cast<float>(new_size);
  const float scale = factor && *factor > 0 ? static_cast<float>(1.0 / *factor) : quotient;
  for (int64_t i = 0; i < new_size; ++i) {
    const float at = static_cast<float>(i), place = (exact ? at + 0.5F : at) * scale;
    list.Append(place < static_cast<float>(size) ? std::min(static_cast<int64_t>(place), size - 1) : size - 1, 1.0);
    list.EndSum();
  }
}

/// The sums along a dimension.
template <class T>
void AppendSums(const Filter& filter, int64_t size, int64_t new_size, std::optional<double> factor,
                WeightedSumList<T>& list) {
  if (filter.nearest()) return AppendNearest(filter.mode == Mode::kNearestExact, size, new_size, factor, list);
  const double scale = Scale(size, new_size, filter.align_corners, factor);
  for (int64_t i = 0; i < new_size; ++i) {
    if (filter.antialias) {
      AppendSmooth(i, scale, size, filter.mode, list);
      list.EndSum();
      continue;
    }
    const double at = static_cast<double>(i);
    const double place = filter.align_corners ? at * scale : (at + 0.5) * scale - 0.5;
    if (filter.cubic()) {
      int64_t low = static_cast<int64_t>(place);
      if (static_cast<double>(low) > place) --low;
      const double t = place - static_cast<double>(low), a = -0.75;
      const double weights[] = {Far(t + 1, a), Near(t, a), Near(1 - t, a), Far(2 - t, a)};
      for (int64_t k = 0; k < 4; ++k) list.Append(std::clamp<int64_t>(low + k - 1, 0, size - 1), weights[k]);
    } else {
      const double inside = std::max(place, 0.0);
      const int64_t low = std::min(static_cast<int64_t>(inside), size - 1);
      const double weight = std::min(inside - static_cast<double>(low), 1.0);
      list.Append(low, 1 - weight);
      list.Append(std::min(low + 1, size - 1), weight);
    }
    list.EndSum();
  }
}

/// A checked call: the dimensions from `first` on have the sizes `size` in the input and `new_size` in the output.
struct Call {
  Filter filter;
  int first;
  IntList size, new_size;
  Factors factors;

  std::optional<double> FactorOf(int i) const { return factors[kMaxResized - size.size() + i]; }
};

/// Of either op: the tensor has the dimensions of `sizes` to be changed.
Call Check(const ArgName& name, const TensorView& tensor, const ArgName& sizes_name, const IntList& sizes,
           std::string_view mode, bool antialias, bool align_corners, const Factors& factors, int64_t dim) {
  CheckFloat(name, tensor, tensor);
  REPDL_CHECK(sizes.size() >= 1 && sizes.size() <= kMaxResized, sizes_name, " ", Name(sizes),
              " must have a size for each of one to three dimensions");
  const ArgName mode_name{name.op, "mode"};
  // As in Mode.
  static constexpr std::string_view kModes[] = {"linear", "cubic", "lanczos", "nearest", "nearest-exact"};
  const auto found = std::find(std::begin(kModes), std::end(kModes), mode);
  REPDL_CHECK(found != std::end(kModes), mode_name,
              " must be 'linear', 'cubic', 'lanczos', 'nearest' or 'nearest-exact', got '", mode, "'");
  Call call{{static_cast<Mode>(found - kModes), antialias, align_corners}, 0, {}, {}, factors};
  REPDL_CHECK(!call.filter.nearest() || !(antialias || align_corners), mode_name, " '", mode,
              "' has neither antialias nor align_corners");
  REPDL_CHECK(antialias || call.filter.mode != Mode::kLanczos, mode_name, " 'lanczos' needs antialias");
  call.first = CheckDim({name.op, "dim"}, dim, tensor.rank());
  REPDL_CHECK(call.first + sizes.size() <= tensor.rank(), name, " of shape ", Name(tensor.shape), " has fewer than ",
              sizes.size(), " dimensions from dimension ", call.first, " on");
  for (int i = 0; i < sizes.size(); ++i) {
    const int64_t own = tensor.shape[call.first + i];
    REPDL_CHECK(own > 0, name, " of shape ", Name(tensor.shape), " is empty in dimension ", call.first + i,
                ", which is to be resized");
    REPDL_CHECK(sizes[i] > 0 && sizes[i] <= INT32_MAX && own <= INT32_MAX, sizes_name, " ", Name(sizes),
                " must be in [1, 2^31), as the sizes of ", name.arg);
    const std::optional<double> factor = factors[kMaxResized - sizes.size() + i];
    REPDL_CHECK(!factor || !(*factor > 0) || *factor >= 1.0 / INT32_MAX, "[", name.op, "] a scale factor of ", *factor,
                " is too small; leave it out");
  }
  return call;
}

IntList Resized(const TensorView& tensor, int first, const IntList& sizes) {
  IntList shape = tensor.shape;
  for (int i = 0; i < sizes.size(); ++i) shape[first + i] = sizes[i];
  return shape;
}

int64_t Product(const IntList& shape, int begin, int end) {
  int64_t product = 1;
  for (int i = begin; i < end; ++i) product *= shape[i];
  return product;
}

/// One dimension to be resized, with the sums along it.
template <class T>
struct Step {
  Step(const Call& call, int i, bool gradient, OpScratch& scratch) : list(call.size[i]), transposed(0) {
    if (call.filter.Keeps(call.size[i], call.new_size[i], call.FactorOf(i).has_value())) return;
    AppendSums(call.filter, call.size[i], call.new_size[i], call.FactorOf(i), list);
    sums = OnPlace(gradient ? list.Transposed(transposed) : list.View(), scratch);
  }
  WeightedSumList<T> list, transposed;
  WeightedSums<T> sums{};
};

/// Resizes dimensions `at` and `at + 1`, or the first of them alone, whose sums are those of the steps.
template <class T>
void ResampleDims(const Place& place, const T* from, const IntList& in_shape, T* to, const IntList& out_shape, int at,
                  const WeightedSums<T>& rows, const WeightedSums<T>* columns, bool gradient) {
  const int end = at + (columns == nullptr ? 1 : 2), rank = in_shape.size();
  ResampleArgs<T> args{};
  args.planes = Product(in_shape, 0, at);
  args.in_rows = in_shape[at], args.out_rows = out_shape[at];
  args.in_columns = args.out_columns = 1;
  if (columns != nullptr) {
    args.in_columns = in_shape[at + 1], args.out_columns = out_shape[at + 1];
    args.columns = *columns;
  }
  args.inner = Product(in_shape, end, rank);
  args.rows = rows;
  args.rows_first = gradient;
  args.input = from, args.output = to;
  if (!args.rows && !args.columns) {
    const IntList all{args.planes * args.in_rows * args.in_columns * args.inner};
    CopyElements(place, MakeView(const_cast<T*>(from), kDTypeOf<T>, all, place.device),
                 MakeView(to, kDTypeOf<T>, all, place.device));
  } else {
    ResampleKernel(place, args);
  }
}

template <class T>
void Run(const Place& place, const Call& call, const TensorView& input, bool gradient, const TensorView& output) {
  const int first = call.first, resized = call.size.size(), rank = input.rank();
  OpScratch scratch(place);
  const T* const from = Contiguous(input, scratch).Data<const T>();
  T* const to = output.Data<T>();
  if (resized == 1 && first + 1 == rank) {
    // The numbers of a row lie side by side: it is the columns that are summed.
    const Step<T> step(call, 0, gradient, scratch);
    IntList in_shape{Product(input.shape, 0, first), 1, input.shape[first]}, out_shape = in_shape;
    out_shape[2] = output.shape[first];
    return ResampleDims<T>(place, from, in_shape, to, out_shape, 1, {}, &step.sums, gradient);
  }
  if (resized == 1) {
    const Step<T> step(call, 0, gradient, scratch);
    return ResampleDims<T>(place, from, input.shape, to, output.shape, first, step.sums, nullptr, gradient);
  }
  const Step<T> rows(call, resized - 2, gradient, scratch), columns(call, resized - 1, gradient, scratch);
  if (resized == 2) {
    return ResampleDims<T>(place, from, input.shape, to, output.shape, first, rows.sums, &columns.sums, gradient);
  }
  const Step<T> depth(call, 0, gradient, scratch);
  // Between the planes and the depth, or the depth and the planes.
  IntList between = gradient ? input.shape : output.shape;
  between[first] = gradient ? output.shape[first] : input.shape[first];
  T* const half = scratch.Get<T>(Product(between, 0, rank));
  const auto planes = [&](const T* x, const IntList& x_shape, T* y, const IntList& y_shape) {
    ResampleDims<T>(place, x, x_shape, y, y_shape, first + 1, rows.sums, &columns.sums, gradient);
  };
  const auto along_depth = [&](const T* x, const IntList& x_shape, T* y, const IntList& y_shape) {
    ResampleDims<T>(place, x, x_shape, y, y_shape, first, depth.sums, nullptr, gradient);
  };
  if (gradient) {
    along_depth(from, input.shape, half, between);
    planes(half, between, to, output.shape);
  } else {
    planes(from, input.shape, half, between);
    along_depth(half, between, to, output.shape);
  }
}

constexpr ArgName kInput{"resample", "input"}, kSize{"resample", "size"};
constexpr ArgName kGradOutput{"resample_grad", "grad_output"}, kInputSize{"resample_grad", "input_size"};

}  // namespace

Specs InferResample(const TensorView& input, const IntList& size, std::string_view mode, bool antialias,
                    bool align_corners, std::optional<double> scales_d, std::optional<double> scales_h,
                    std::optional<double> scales_w, int64_t dim) {
  const Call call =
      Check(kInput, input, kSize, size, mode, antialias, align_corners, {scales_d, scales_h, scales_w}, dim);
  return {{input.dtype, Resized(input, call.first, size)}};
}

void Resample(const TensorView& input, const IntList& size, std::string_view mode, bool antialias, bool align_corners,
              std::optional<double> scales_d, std::optional<double> scales_h, std::optional<double> scales_w,
              int64_t dim, Out output) {
  const FpEnvGuard guard;
  Call call = Check(kInput, input, kSize, size, mode, antialias, align_corners, {scales_d, scales_h, scales_w}, dim);
  CheckOutputs("resample", {{input.dtype, Resized(input, call.first, size)}}, {&output}, input);
  const Place place = PlaceOf("resample", input);
  if (output.numel() == 0) return;
  for (int i = 0; i < size.size(); ++i) call.size.Append(input.shape[call.first + i]);
  call.new_size = size;
  DispatchReal(input.dtype, [&]<class T>() { Run<T>(place, call, input, false, output); });
}

Specs InferResampleGrad(const TensorView& grad_output, const IntList& input_size, std::string_view mode, bool antialias,
                        bool align_corners, std::optional<double> scales_d, std::optional<double> scales_h,
                        std::optional<double> scales_w, int64_t dim) {
  const Call call = Check(kGradOutput, grad_output, kInputSize, input_size, mode, antialias, align_corners,
                          {scales_d, scales_h, scales_w}, dim);
  return {{grad_output.dtype, Resized(grad_output, call.first, input_size)}};
}

void ResampleGrad(const TensorView& grad_output, const IntList& input_size, std::string_view mode, bool antialias,
                  bool align_corners, std::optional<double> scales_d, std::optional<double> scales_h,
                  std::optional<double> scales_w, int64_t dim, Out grad_input) {
  const FpEnvGuard guard;
  Call call = Check(kGradOutput, grad_output, kInputSize, input_size, mode, antialias, align_corners,
                    {scales_d, scales_h, scales_w}, dim);
  CheckOutputs("resample_grad", {{grad_output.dtype, Resized(grad_output, call.first, input_size)}}, {&grad_input},
               grad_output);
  const Place place = PlaceOf("resample_grad", grad_output);
  if (grad_input.numel() == 0) return;
  call.size = input_size;
  for (int i = 0; i < input_size.size(); ++i) call.new_size.Append(grad_output.shape[call.first + i]);
  DispatchReal(grad_output.dtype, [&]<class T>() { Run<T>(place, call, grad_output, true, grad_input); });
}

}  // namespace repdl

REPDL_OPS(
    resample,
    MakeOp<InferResample, Resample, ResampleKernel>("resample",
                                                    "input, size, mode='linear', antialias=False, align_corners=False, "
                                                    "scales_d=None, scales_h=None, scales_w=None, dim=2",
                                                    kFloat32Or64),
    MakeOp<InferResampleGrad, ResampleGrad, ResampleKernel>(
        "resample_grad",
        "grad_output, input_size, mode='linear', antialias=False, align_corners=False, "
        "scales_d=None, scales_h=None, scales_w=None, dim=2",
        kFloat32Or64))

// SPDX-License-Identifier: MIT
// Elementwise ops: f(x...) of a vector at a time.
#pragma once

#include <utility>

#include "base/parallel.h"
#include "drivers/map.h"
#include "drivers/narrow_cpu-inl.h"
#include "drivers/vector_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

/// y[i] = f(x[0][i], ...) for i < n, all side by side in memory; y[0] is for element `at` of the output.
template <class T>
using MapRun = void (*)(const void* f, const T* const* x, T* y, int64_t at, int64_t n);

/// What the operands of a run go through where they are not such numbers side by side.
constexpr int64_t kMapRun = 512;

/// output = run(inputs...), in parallel. `grain` is the number of elements worth a fork. A low-precision output is
/// rounded from what `run` gives.
template <class T>
HWY_NOINLINE void MapRuns(const MapArgs& args, int64_t grain, MapRun<T> run, const void* f) {
  const int inner = args.rank - 1;
  bool direct = args.output_dtype == kDTypeOf<T>;
  for (int t = 0; t < args.num_inputs; ++t) {
    direct = direct && args.input_dtypes[t] == kDTypeOf<T> && args.strides[t][inner] == 1;
  }
  ParallelRanges(args.numel, grain, [&](int64_t begin, int64_t end) HWY_ATTR {
    HWY_ALIGN T buffers[MapArgs::kMaxInputs + 1][kMapRun];
    for (int64_t at = begin; at < end;) {
      // The place of element `at`: an offset into every operand.
      int64_t rest = at;
      int64_t offsets[MapArgs::kMaxInputs] = {};
      int64_t column = 0;
      for (int dim = inner; dim >= 0; --dim) {
        const int64_t index = rest % args.shape[dim];
        rest /= args.shape[dim];
        if (dim == inner) column = index;
        for (int t = 0; t < args.num_inputs; ++t) offsets[t] += index * args.strides[t][dim];
      }
      const int64_t row_end = std::min(end, at + args.shape[inner] - column);
      const int64_t longest = direct ? row_end - at : kMapRun;
      const T* x[MapArgs::kMaxInputs] = {};
      for (; at < row_end; at += longest) {
        const int64_t n = std::min(longest, row_end - at);
        for (int t = 0; t < args.num_inputs; ++t) {
          const int64_t stride = args.strides[t][inner];
          if (stride == 0 && x[t] != nullptr) continue;  // the number that repeats is in the buffer already
          x[t] = NumbersSideBySide(args.inputs[t], args.input_dtypes[t], offsets[t], stride, n, buffers[t]);
          offsets[t] += n * stride;
        }
        if (args.output_dtype == kDTypeOf<T>) {
          run(f, x, static_cast<T*>(args.output) + at, at, n);
        } else if constexpr (std::is_same_v<T, float>) {
          float* rounded = buffers[MapArgs::kMaxInputs];
          run(f, x, rounded, at, n);
          NarrowTo(args.output_dtype, rounded, static_cast<uint16_t*>(args.output) + at, n);
        }
      }
      at = row_end;
    }
  });
}

/// The same for a function object: f(x, y, at, n).
template <class T, class F>
void MapEachRun(const MapArgs& args, int64_t grain, const F& f) {
  const MapRun<T> run = [](const void* context, const T* const* x, T* y, int64_t at, int64_t n)
                            HWY_ATTR { (*static_cast<const F*>(context))(x, y, at, n); };
  MapRuns<T>(args, grain, run, &f);
}

/// output = f(inputs...), in parallel; f takes and gives vectors of T.
template <int kInputs, class T = float, class F>
void Map(const MapArgs& args, int64_t grain, const F& f) {
  MapEachRun<T>(args, grain, [&f](const T* const* x, T* y, int64_t, int64_t n) HWY_ATTR {
    ForVectors<T>(n, [&](int64_t i, int64_t count) HWY_ATTR {
      // Lanes behind the end compute f(1...): no slow subnormals, no traps.
      const auto of = [&]<size_t... t>(std::index_sequence<t...>) HWY_ATTR { return f(LoadN(x[t] + i, count, 1)...); };
      StoreN(of(std::make_index_sequence<kInputs>()), y + i, count);
    });
  });
}

/// output = F()(tag, inputs...), of doubles.
template <int kInputs, class F>
void MapDouble(const MapArgs& args, int64_t grain) {
  Map<kInputs, double>(args, grain, [](auto... x) HWY_ATTR { return F()(TagOf<double>(), x...); });
}

/// y[i] = F()(tag, x[i]), computed in double; rounded to odd where a second rounding follows.
template <class F, bool kToOdd>
void MapWideRun(const void*, const float* const* x, float* y, int64_t, int64_t n) {
  const hn::ScalableTag<double> wide;
  const hn::Rebind<float, decltype(wide)> narrow;
  const auto apply = [&](auto v) HWY_ATTR {
    const auto result = F()(wide, ToDouble(wide, v));
    if constexpr (kToOdd) {
      return ToFloatOdd(narrow, result);
    } else {
      return ToFloat(narrow, result);
    }
  };
  constexpr int64_t kWideLanes = HWY_LANES(double);
  int64_t i = 0;
  for (; i + kWideLanes <= n; i += kWideLanes) StoreU(apply(LoadU(narrow, x[0] + i)), narrow, y + i);
  if (i == n) return;
  HWY_ALIGN float tail[kWideLanes];
  std::fill_n(tail, kWideLanes, 1.0f);
  std::copy(x[0] + i, x[0] + n, tail);
  Store(apply(Load(narrow, tail)), narrow, tail);
  std::copy(tail, tail + (n - i), y + i);
}

/// output = F()(tag, input), computed in double and rounded once to the type of the output.
template <class F>
void MapWide(const MapArgs& args, int64_t grain) {
  const bool to_odd = args.output_dtype != DType::kFloat32;
  MapRuns<float>(args, grain, to_odd ? &MapWideRun<F, true> : &MapWideRun<F, false>, nullptr);
}

/// y[i] = F()(tag, x[0][i], x[1][i]), computed in double, for an F of few steps: then the conversions count, which are
/// fastest out of memory and to no more than 256 bits.
template <class F>
void MapWide2Run(const void*, const float* const* x, float* y, int64_t, int64_t n) {
  constexpr int64_t kWideLanes = std::min<int64_t>(HWY_LANES(double), 4);
  const hn::CappedTag<double, kWideLanes> wide;
  const hn::Rebind<float, decltype(wide)> narrow;
  const auto apply = [&](const float* a, const float* b, float* to) HWY_ATTR {
    const auto result = F()(wide, ToDouble(wide, LoadU(narrow, a)), ToDouble(wide, LoadU(narrow, b)));
    StoreU(ToFloat(narrow, result), narrow, to);
  };
  const float* const a = x[0];
  const float* const b = x[1];
  int64_t i = 0;
  for (; i + kWideLanes <= n; i += kWideLanes) apply(a + i, b + i, y + i);
  if (i == n) return;
  float tail[3][kWideLanes] = {};
  std::copy(a + i, a + n, tail[0]);
  std::copy(b + i, b + n, tail[1]);
  apply(tail[0], tail[1], tail[2]);
  std::copy_n(tail[2], n - i, y + i);
}

/// output = F()(tag, inputs...), computed in double and rounded to float32, then to the type of the output.
template <class F>
void MapWide2(const MapArgs& args, int64_t grain) {
  MapRuns<float>(args, grain, &MapWide2Run<F>, nullptr);
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

// SPDX-License-Identifier: MIT
#include "drivers/map_cpu-inl.h"
#include "drivers/row_cpu-inl.h"
#include "ops/fake_quantize/fake_quantize_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

#include "ops/fake_quantize/fake_quantize.row.h"

namespace {

constexpr int64_t kGrain = 8192;

// A scale, rounded to float32, and the inverse of that.
HWY_INLINE Vec ScaleOf(Vec s) { return s; }
HWY_INLINE Vec InverseOf(Vec s) { return Div(Set(FloatTag(), 1.0f), s); }

using NarrowTag = hn::Rebind<float, TagOf<double>>;
HWY_INLINE VecOf<double> ScaleOf(VecOf<double> s) { return ToDouble(TagOf<double>(), ToFloat(NarrowTag(), s)); }
HWY_INLINE VecOf<double> InverseOf(VecOf<double> s) {
  return ToDouble(TagOf<double>(), Div(Set(NarrowTag(), 1.0f), ToFloat(NarrowTag(), s)));
}

/// Calls f(i, count, scale, inverse) for the vectors of n elements with these scales. One that serves all is inverted once.
template <class T, class F>
HWY_INLINE void ForScaled(const T* scales, bool is_one, int64_t n, const F& f) {
  using V = VecOf<T>;
  if (is_one) {
    const V s = Set(TagOf<T>(), scales[0]);
    const V scale = ScaleOf(s), inverse = InverseOf(s);
    ForVectors<T>(n, [&](int64_t i, int64_t count) HWY_ATTR { f(i, count, scale, inverse); });
  } else {
    ForVectors<T>(n, [&](int64_t i, int64_t count) HWY_ATTR {
      const V s = LoadN(scales + i, count, 1);
      f(i, count, ScaleOf(s), InverseOf(s));
    });
  }
}

/// Whether operand t is the same number along the innermost loop.
bool IsOne(const MapArgs& args, int t) { return args.strides[t][args.rank - 1] == 0; }

/// The first `count` lanes of a mask to memory, as 0 or 1.
template <class T>
HWY_INLINE void StoreMask(MaskOf<T> mask, bool* to, int64_t count) {
  const hn::RebindToUnsigned<TagOf<T>> wide;
  const hn::Rebind<uint8_t, TagOf<T>> narrow;
  const auto bits = hn::TruncateTo(narrow, IfThenElseZero(MaskTo(wide, mask), Set(wide, 1)));
  auto* bytes = reinterpret_cast<uint8_t*>(to);
  if (HWY_LIKELY(count >= kLanesOf<T>)) {
    StoreU(bits, narrow, bytes);
    return;
  }
  uint8_t buffer[kLanesOf<T>];
  StoreU(bits, narrow, buffer);
  std::memcpy(bytes, buffer, static_cast<size_t>(count));
}

template <class T, bool kZeroFirst>
void RunFake(const FakeQuantizeArgs& args) {
  using V = VecOf<T>;
  const V low = Set(TagOf<T>(), static_cast<T>(args.low)), high = Set(TagOf<T>(), static_cast<T>(args.high));
  const bool is_one = IsOne(args.map, 1);
  MapEachRowRun<T>(args.map, kGrain, [&](const T* const* x, T* y, int64_t at, int64_t n) HWY_ATTR {
    bool* const mask = args.mask + at;
    ForScaled(x[1], is_one, n, [&](int64_t i, int64_t count, V scale, V inverse) HWY_ATTR {
      const V zero = LoadN(x[2] + i, count);
      const V step = QuantizedStep<kZeroFirst>(LoadN(x[0] + i, count), inverse, zero);
      StoreN(ValueOfStep(step, scale, zero, low, high), y + i, count);
      StoreMask<T>(IsWithin(step, low, high), mask + i, count);
    });
  });
}

template <class T>
void RunFakeGrad(const FakeQuantizeGradArgs& args) {
  using V = VecOf<T>;
  const TagOf<T> d;
  const V low = Set(d, static_cast<T>(args.low)), high = Set(d, static_cast<T>(args.high));
  const V factor = Set(d, static_cast<T>(args.factor));
  const bool is_one = IsOne(args.map, 2);
  MapEachRowRun<T>(args.map, kGrain, [&](const T* const* x, T* y, int64_t at, int64_t n) HWY_ATTR {
    T* const by_scale = static_cast<T*>(args.grad_scale) + at;
    T* const by_zero = static_cast<T*>(args.grad_zero_point) + at;
    ForScaled(x[2], is_one, n, [&](int64_t i, int64_t count, V scale, V inverse) HWY_ATTR {
      V by_input, of_scale, of_zero;
      FakeQuantizeGradOf(LoadN(x[0] + i, count), LoadN(x[1] + i, count), scale, inverse, LoadN(x[3] + i, count), low,
                         high, factor, by_input, of_scale, of_zero);
      StoreN(by_input, y + i, count);
      StoreN(of_scale, by_scale + i, count);
      StoreN(of_zero, by_zero + i, count);
    });
  });
}

template <class T>
void RunQuantize(const QuantizeArgs& args) {
  using V = VecOf<T>;
  const V low = Set(TagOf<T>(), static_cast<T>(args.low)), high = Set(TagOf<T>(), static_cast<T>(args.high));
  const bool is_one = IsOne(args.map, 1);
  MapEachRowRun<T>(args.map, kGrain, [&](const T* const* x, T* y, int64_t, int64_t n) HWY_ATTR {
    ForScaled(x[1], is_one, n, [&](int64_t i, int64_t count, V, V inverse) HWY_ATTR {
      StoreN(QuantizedOf(LoadN(x[0] + i, count), inverse, LoadN(x[2] + i, count), low, high), y + i, count);
    });
  });
}

}  // namespace

void FakeQuantizeKernel(const FakeQuantizeArgs& args) {
  DispatchReal(args.map.output_dtype,
               [&]<class T>() { args.zero_first ? RunFake<T, true>(args) : RunFake<T, false>(args); });
}

void FakeQuantizeGradKernel(const FakeQuantizeGradArgs& args) {
  DispatchReal(args.map.output_dtype, [&]<class T>() { RunFakeGrad<T>(args); });
}

void QuantizeKernel(const QuantizeArgs& args) {
  DispatchReal(args.map.output_dtype, [&]<class T>() { RunQuantize<T>(args); });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

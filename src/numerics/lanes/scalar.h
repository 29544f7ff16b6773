// SPDX-License-Identifier: MIT
// The lane words for one number, on the host and in CUDA kernels. The same lane files are written
// in these words and in those of highway-inl.h.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

// REPDL_LANE_RARE is for long texts that few lanes need: they are functions that are called.
#if defined(__CUDACC__)
#define REPDL_LANE __host__ __device__ __forceinline__
#define REPDL_LANE_RARE __host__ __device__ __noinline__
#else
#include <cmath>
#define REPDL_LANE inline
#define REPDL_LANE_RARE [[gnu::noinline, gnu::cold]] inline
#endif

/// Name() points to these numbers.
#define REPDL_TABLE(Name, Type, kSize, ...)               \
  REPDL_LANE const Type* Name() {                         \
    static constexpr Type kValues[kSize] = {__VA_ARGS__}; \
    return kValues;                                       \
  }

namespace repdl::scalar {

/// The tag of a lane type, as Highway's: Set(Tag<float>(), 1.0f).
template <class T>
struct Tag {};
template <class T>
struct IntOf;
template <>
struct IntOf<float> {
  using type = int32_t;
};
template <>
struct IntOf<double> {
  using type = int64_t;
};
template <class T>
struct TagOf;
template <class T>
struct TagOf<Tag<T>> {
  using type = T;
};
/// The tag of float for an int32.
template <class T>
using FloatTagOf = std::enable_if_t<std::is_same_v<T, int32_t>, Tag<float>>;
template <class D>
using IntTag = Tag<typename IntOf<typename TagOf<D>::type>::type>;

/// The lane type T as a member of a struct.
template <class T>
using MemberOf = T;

template <class T>
REPDL_LANE T Set(Tag<T>, std::type_identity_t<T> value) {
  return value;
}
template <class T>
REPDL_LANE T Zero(Tag<T>) {
  return T{0};
}
template <class To, class From>
REPDL_LANE To BitCast(Tag<To>, From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}
REPDL_LANE float Inf(Tag<float> d) { return BitCast(d, 0x7f800000); }
REPDL_LANE double Inf(Tag<double> d) { return BitCast(d, int64_t{0x7ff0000000000000}); }

// A CUDA kernel takes the intrinsics: the compiler rounds each once and never contracts them.
#if defined(__CUDA_ARCH__)
#define REPDL_ON_DEVICE(device, host) return device
#else
#define REPDL_ON_DEVICE(device, host) return host
#endif
REPDL_LANE float Add(float a, float b) { REPDL_ON_DEVICE(__fadd_rn(a, b), a + b); }
REPDL_LANE float Sub(float a, float b) { REPDL_ON_DEVICE(__fsub_rn(a, b), a - b); }
REPDL_LANE float Mul(float a, float b) { REPDL_ON_DEVICE(__fmul_rn(a, b), a * b); }
REPDL_LANE float Div(float a, float b) { REPDL_ON_DEVICE(__fdiv_rn(a, b), a / b); }
REPDL_LANE float Sqrt(float a) { REPDL_ON_DEVICE(__fsqrt_rn(a), __builtin_sqrtf(a)); }
REPDL_LANE float Fma(float a, float b, float c) { REPDL_ON_DEVICE(__fmaf_rn(a, b, c), __builtin_fmaf(a, b, c)); }
REPDL_LANE double Add(double a, double b) { REPDL_ON_DEVICE(__dadd_rn(a, b), a + b); }
REPDL_LANE double Sub(double a, double b) { REPDL_ON_DEVICE(__dsub_rn(a, b), a - b); }
REPDL_LANE double Mul(double a, double b) { REPDL_ON_DEVICE(__dmul_rn(a, b), a * b); }
REPDL_LANE double Div(double a, double b) { REPDL_ON_DEVICE(__ddiv_rn(a, b), a / b); }
REPDL_LANE double Sqrt(double a) { REPDL_ON_DEVICE(__dsqrt_rn(a), __builtin_sqrt(a)); }
REPDL_LANE double Fma(double a, double b, double c) { REPDL_ON_DEVICE(__fma_rn(a, b, c), __builtin_fma(a, b, c)); }
REPDL_LANE float ToFloat(Tag<float>, double a) { REPDL_ON_DEVICE(__double2float_rn(a), static_cast<float>(a)); }
#undef REPDL_ON_DEVICE
REPDL_LANE double ToDouble(Tag<double>, float a) { return a; }
// Exact, and one instruction on every device.
REPDL_LANE float Round(float a) { return __builtin_rintf(a); }
REPDL_LANE double Round(double a) { return __builtin_rint(a); }
REPDL_LANE float Floor(float a) { return __builtin_floorf(a); }
REPDL_LANE double Floor(double a) { return __builtin_floor(a); }
REPDL_LANE float Abs(float a) { return __builtin_fabsf(a); }
REPDL_LANE double Abs(double a) { return __builtin_fabs(a); }
REPDL_LANE float CopySign(float magnitude, float sign) { return __builtin_copysignf(magnitude, sign); }
REPDL_LANE double CopySign(double magnitude, double sign) { return __builtin_copysign(magnitude, sign); }
REPDL_LANE float Neg(float a) { return -a; }
REPDL_LANE double Neg(double a) { return -a; }
// Integers wrap around, as vectors of them do.
REPDL_LANE int64_t Add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
REPDL_LANE int64_t Sub(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}

REPDL_LANE int32_t Add(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
}
REPDL_LANE int32_t Sub(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) - static_cast<uint32_t>(b));
}

/// The product of the low halves.
REPDL_LANE int64_t MulLowHalves(int64_t a, int64_t b) {
  return static_cast<int64_t>(uint64_t{static_cast<uint32_t>(a)} * uint64_t{static_cast<uint32_t>(b)});
}
/// Exact for |a| <= 2^24.
REPDL_LANE float FloatOf(int32_t a) { return static_cast<float>(a); }

template <class T>
REPDL_LANE T And(T a, T b) {
  return a & b;
}
REPDL_LANE bool And(bool a, bool b) { return a && b; }
REPDL_LANE bool Or(bool a, bool b) { return a || b; }
REPDL_LANE bool Not(bool a) { return !a; }
template <class T>
REPDL_LANE T Xor(T a, T b) {
  return a ^ b;
}
template <class T>
REPDL_LANE T Or(T a, T b) {
  return a | b;
}
template <int kBits, class T>
REPDL_LANE T ShiftLeft(T a) {
  using U = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  return static_cast<T>(static_cast<U>(a) << kBits);
}
template <int kBits, class T>
REPDL_LANE T ShiftRight(T a) {  // arithmetic
  return a >> kBits;
}
template <int kBits, class T>
REPDL_LANE T ShiftRightLogical(T a) {  // zeros come in
  using U = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  return static_cast<T>(static_cast<U>(a) >> kBits);
}
template <class T>
REPDL_LANE bool Lt(T a, T b) {
  return a < b;
}
template <class T>
REPDL_LANE bool Le(T a, T b) {
  return a <= b;
}
template <class T>
REPDL_LANE bool Gt(T a, T b) {
  return a > b;
}
template <class T>
REPDL_LANE bool Ge(T a, T b) {
  return a >= b;
}
template <class T>
REPDL_LANE bool Eq(T a, T b) {
  return a == b;
}
template <class T>
REPDL_LANE bool NotEq(T a, T b) {
  return a != b;
}
template <class T>
REPDL_LANE bool IsNaN(T a) {
  return a != a;
}
template <class T>
REPDL_LANE T IfThenElse(bool mask, T yes, T no) {
  return mask ? yes : no;
}
template <class T>
REPDL_LANE T IfThenZeroElse(bool mask, T no) {
  return mask ? T{0} : no;
}
template <class T>
REPDL_LANE T IfThenElseZero(bool mask, T yes) {
  return mask ? yes : T{0};
}

// Of a NaN and a number either may come, and of two zeros.
template <class T>
REPDL_LANE T Min(T a, T b) {
  return b < a ? b : a;
}
template <class T>
REPDL_LANE T Max(T a, T b) {
  return a < b ? b : a;
}
template <class T>
REPDL_LANE T Limit(T x, T low, T high) {
  return x < low ? low : x > high ? high : x;
}
template <class D>
REPDL_LANE bool Any(D, bool mask) {
  return mask;
}
template <class D>
REPDL_LANE bool All(D, bool mask) {
  return mask;
}
/// f(x...) where the mask is set.
template <class F, class... Ts>
REPDL_LANE double IfThenEach(Tag<double>, bool mask, F f, double otherwise, Ts... x) {
  return mask ? f(x...) : otherwise;
}
template <int kSize, class T, class I>
REPDL_LANE T LookUp(Tag<T>, const T* table, I index) {
  static_assert((kSize & (kSize - 1)) == 0);
  return table[index & (kSize - 1)];
}
template <int kRows, class T, class I>
REPDL_LANE void LookUpRow(Tag<T>, const T* table, I index, T& a, T& b, T& c, T& e) {
  static_assert((kRows & (kRows - 1)) == 0);
  const T* const row = table + 4 * (index & (kRows - 1));
  a = row[0], b = row[1], c = row[2], e = row[3];
}

/// f(tag, x…) computed in double and rounded once.
template <class F, class... Ts>
REPDL_LANE float ViaDouble(const F& f, Ts... x) {
  return ToFloat(Tag<float>(), f(Tag<double>(), static_cast<double>(x)...));
}

/// The same of one operand by f(tag, x, hard), where `hard` says that f does not tell how to round.
template <class F>
REPDL_LANE float TryViaDouble(const F& f, float x, bool& certain) {
  bool hard = false;
  const float y = ToFloat(Tag<float>(), f(Tag<double>(), static_cast<double>(x), hard));
  certain = !hard;
  return y;
}

template <class V>
REPDL_LANE Tag<V> TagFor(V) {
  return {};
}
template <class D>
REPDL_LANE bool MaskTo(D, bool mask) {
  return mask;
}

#include "numerics/parts/eft.lane.h"
#include "numerics/parts/narrow.lane.h"

/// The same rounded to odd, for one more rounding.
template <class F>
REPDL_LANE float ViaDoubleToOdd(const F& f, float x) {
  return ToFloatOdd(Tag<float>(), f(Tag<double>(), static_cast<double>(x)));
}

}  // namespace repdl::scalar

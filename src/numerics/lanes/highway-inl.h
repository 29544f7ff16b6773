// SPDX-License-Identifier: MIT
// The lane words for Highway vectors. An `_cpu.cc` file includes this first; CMake compiles the file
// once per target (HWY_BASELINE_TARGETS), so there is one HWY_NAMESPACE in each object.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "hwy/highway.h"
#include "numerics/fma.h"

#if HWY_TARGET == HWY_SCALAR
// No vector crosses a call, so the compiler may choose: to put all into one takes it twice as long.
#define REPDL_LANE inline HWY_MAYBE_UNUSED
#else
#define REPDL_LANE HWY_INLINE HWY_MAYBE_UNUSED
#endif
#define REPDL_LANE_RARE HWY_NOINLINE HWY_MAYBE_UNUSED

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Words that are exact or rounded once in Highway as they are. Its multiply-add, horizontal sums
// and approximations are not: their bits follow the target.
using hn::Abs;
using hn::Add;
using hn::And;
using hn::AndNot;
using hn::BitCast;
using hn::CopySign;
using hn::Div;
using hn::Eq;
using hn::Ge;
using hn::Gt;
using hn::IfThenElse;
using hn::IfThenElseZero;
using hn::IfThenZeroElse;
using hn::Inf;
using hn::IsNaN;
using hn::Le;
using hn::Load;
using hn::LoadU;
using hn::Lt;
using hn::Max;
using hn::Min;
using hn::Mul;
using hn::Neg;
using hn::Not;
using hn::Or;
using hn::Round;
using hn::Set;
using hn::Sqrt;
using hn::Store;
using hn::StoreU;
using hn::Sub;
using hn::Undefined;
using hn::Xor;
using hn::Zero;

/// Name() points to these numbers: `REPDL_TABLE(ExpTable, double, 16, 0x1p+0, …)`.
#define REPDL_TABLE(Name, Type, kSize, ...)                           \
  REPDL_LANE const Type* Name() {                                     \
    alignas(64) static constexpr Type kValues[kSize] = {__VA_ARGS__}; \
    return kValues;                                                   \
  }

#if HWY_ARCH_WASM
// LLVM 14 makes `x < 0 ? 0 : x` the instruction max, which turns -0 into +0; so the zero is hidden from it. Functions win
// over the templates of that name.
#define REPDL_IF_THEN_ZERO_ELSE(T)                                                  \
  REPDL_LANE hn::Vec1<T> IfThenZeroElse(hn::Mask1<T> mask, hn::Vec1<T> otherwise) { \
    T zero = 0;                                                                     \
    __asm__("" : "+r"(zero));                                                       \
    return IfThenElse(mask, hn::Vec1<T>(zero), otherwise);                          \
  }
REPDL_IF_THEN_ZERO_ELSE(float)
REPDL_IF_THEN_ZERO_ELSE(double)
#undef REPDL_IF_THEN_ZERO_ELSE
#endif

using FloatTag = hn::ScalableTag<float>;

/// Bits of a float or double vector as integers, and back.
template <class D>
using IntTag = hn::RebindToSigned<D>;

/// The tag of floats for a vector of int32.
template <class VI>
using FloatTagOf = hn::RebindToFloat<hn::DFromV<VI>>;

/// True of NaN, as `!=` is. Highway's own is false with AVX, where it compares in order, and true without.
template <class V>
REPDL_LANE auto NotEq(V a, V b) {
  return Not(Eq(a, b));
}

/// The vector type V as a member of a struct: the types of SVE have no size.
#if HWY_TARGET == HWY_SVE_256 || HWY_TARGET == HWY_SVE2_128
typedef hn::Vec<hn::ScalableTag<double>> SizedDoubles __attribute__((arm_sve_vector_bits(HWY_MAX_BYTES * 8)));
template <class V>
using MemberOf = SizedDoubles;
#else
template <class V>
using MemberOf = V;
#endif

#if HWY_ARCH_X86 && HWY_TARGET >= HWY_SSSE3 && HWY_TARGET != HWY_SCALAR
// Without an instruction for it, Highway's Round loses the sign of a zero.
REPDL_LANE hn::Vec128<float> Round(hn::Vec128<float> v) { return CopySign(hn::Round(v), v); }
REPDL_LANE hn::Vec128<double> Round(hn::Vec128<double> v) { return CopySign(hn::Round(v), v); }
#endif

template <int kBits, class V>
REPDL_LANE V ShiftLeft(V v) {
  return hn::ShiftLeft<kBits>(v);
}
template <int kBits, class V>
REPDL_LANE V ShiftRight(V v) {  // arithmetic for signed lanes
  return hn::ShiftRight<kBits>(v);
}
template <int kBits, class V>
REPDL_LANE V ShiftRightLogical(V v) {  // zeros come in; of 64-bit lanes, not all targets have the other
  return BitCast(hn::DFromV<V>(), hn::ShiftRight<kBits>(BitCast(hn::RebindToUnsigned<hn::DFromV<V>>(), v)));
}

/// The product of the low halves of 64-bit lanes.
template <class V>
REPDL_LANE V MulLowHalves(V a, V b) {
  const hn::DFromV<V> d;
#if HWY_TARGET == HWY_SCALAR || HWY_IS_BIG_ENDIAN
  const hn::RebindToUnsigned<decltype(d)> du;
  const auto low = Set(du, 0xffffffff);
  return BitCast(d, Mul(And(BitCast(du, a), low), And(BitCast(du, b), low)));
#else
  const hn::Repartition<uint32_t, decltype(d)> d32;
  return BitCast(d, hn::MulEven(BitCast(d32, a), BitCast(d32, b)));
#endif
}

/// Exact for |v| <= 2^24.
template <class V>
REPDL_LANE auto FloatOf(V v) {
  return hn::ConvertTo(FloatTagOf<V>(), v);
}

template <class V>
REPDL_LANE auto TagFor(V) {
  return hn::DFromV<V>();
}
/// A mask as the mask of a tag with lanes of the same size.
template <class D, class M>
REPDL_LANE auto MaskTo(D d, M mask) {
  return hn::RebindMask(d, mask);
}

/// Rounded once to the float vectors of a tag.
template <class D, class V>
REPDL_LANE hn::Vec<D> ToFloat(D d, V wide) {
#if HWY_TARGET == HWY_SCALAR
  // Highway's own demotion of one lane saturates where IEEE-754 overflows to infinity.
  return Set(d, static_cast<float>(hn::GetLane(wide)));
#else
  return hn::DemoteTo(d, wide);
#endif
}

/// Exact.
template <class D, class V>
REPDL_LANE hn::Vec<D> ToDouble(D d, V narrow) {
  return hn::PromoteTo(d, narrow);
}

#include "numerics/parts/eft.lane.h"
#include "numerics/parts/narrow.lane.h"

/// x limited to [low, high]; NaN stays NaN. (Highway's Clamp is free to drop a NaN, and its Min and Max for Arm do.)
template <class V>
REPDL_LANE V Limit(V x, V low, V high) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR
  return Min(high, Max(low, x));  // the second operand where one is NaN
#else
  return IfThenElse(Lt(x, low), low, IfThenElse(Gt(x, high), high, x));
#endif
}

/// Whether any lane of a mask is set: for a branch around rare work, which must not change what the other lanes get.
template <class D, class M>
REPDL_LANE bool Any(D d, M mask) {
  return !hn::AllFalse(d, mask);
}
template <class D, class M>
REPDL_LANE bool All(D d, M mask) {
  return hn::AllTrue(d, mask);
}

#include "numerics/lanes/if_then_each-inl.h"
#include "numerics/lanes/look_up-inl.h"

/// f(tag, v...) computed on the lanes of float vectors widened to double, and rounded once.
template <class F, class V, class... Vs>
REPDL_LANE V ViaDouble(const F& f, V v, Vs... vs) {
  const hn::DFromV<V> d;
#if HWY_TARGET == HWY_SCALAR
  const hn::Rebind<double, decltype(d)> wide;
  return ToFloat(d, f(wide, hn::PromoteTo(wide, v), hn::PromoteTo(wide, vs)...));
#else
  const hn::Half<decltype(d)> half;
  const hn::Rebind<double, decltype(half)> wide;
  const auto low = hn::DemoteTo(
      half, f(wide, hn::PromoteTo(wide, hn::LowerHalf(half, v)), hn::PromoteTo(wide, hn::LowerHalf(half, vs))...));
  const auto high = hn::DemoteTo(
      half, f(wide, hn::PromoteTo(wide, hn::UpperHalf(half, v)), hn::PromoteTo(wide, hn::UpperHalf(half, vs))...));
  return hn::Combine(d, high, low);
#endif
}

/// The same of one operand by f(tag, v, hard), where `hard` are the lanes for which f does not tell how to round; whether
/// there is none is `certain`. Both halves are computed before that is asked.
template <class F, class V>
REPDL_LANE V TryViaDouble(const F& f, V v, bool& certain) {
  const hn::DFromV<V> d;
#if HWY_TARGET == HWY_SCALAR
  const hn::Rebind<double, decltype(d)> wide;
  auto hard = hn::MaskFromVec(hn::Zero(wide));
  const V y = ToFloat(d, f(wide, hn::PromoteTo(wide, v), hard));
  certain = hn::AllFalse(wide, hard);
  return y;
#else
  const hn::Half<decltype(d)> half;
  const hn::Rebind<double, decltype(half)> wide;
  auto low_hard = hn::MaskFromVec(hn::Zero(wide)), high_hard = low_hard;
  const auto low = f(wide, hn::PromoteTo(wide, hn::LowerHalf(half, v)), low_hard);
  const auto high = f(wide, hn::PromoteTo(wide, hn::UpperHalf(half, v)), high_hard);
  certain = hn::AllFalse(wide, hn::Or(low_hard, high_hard));
  return hn::Combine(d, hn::DemoteTo(half, high), hn::DemoteTo(half, low));
#endif
}

namespace detail {

template <class V>
using LaneOf = hn::TFromV<V>;

#if HWY_NATIVE_FMA

template <class V>
REPDL_LANE V Fma(V a, V b, V c) {
  return hn::MulAdd(a, b, c);  // lint: allowed here, where it is known to be fused
}

#elif HWY_TARGET == HWY_SCALAR && defined(__FP_FAST_FMA) && defined(__FP_FAST_FMAF)

/// By the instruction, which compilers tell of by these macros.
template <class V>
REPDL_LANE V Fma(V a, V b, V c) {
  if constexpr (sizeof(LaneOf<V>) == 4) {
    return V(__builtin_fmaf(a.raw, b.raw, c.raw));  // lint: allowed, likewise
  } else {
    return V(__builtin_fma(a.raw, b.raw, c.raw));  // lint: allowed, likewise
  }
}

#else

/// The product is exact in double; rounding the sum to odd keeps what the last rounding must know.
struct FmaOfWidened {
  template <class D, class V>
  REPDL_LANE V operator()(D, V a, V b, V c) const {
    V error;
    const V sum = TwoSum(Mul(a, b), c, error);
    return RoundToOdd(sum, error);
  }
};

/// (a * b, its rounding error): Dekker's product with Veltkamp's splitting.
template <class V>
REPDL_LANE V TwoProd(V a, V b, V& error) {
  const hn::DFromV<V> d;
  const V splitter = Set(d, 134217729.0);  // 2^27 + 1
  const auto split = [&](V x, V& low) HWY_ATTR {
    const V t = Mul(splitter, x);
    const V high = Sub(t, Sub(t, x));
    low = Sub(x, high);
    return high;
  };
  V a_low, b_low;
  const V a_high = split(a, a_low);
  const V b_high = split(b, b_low);
  const V product = Mul(a, b);
  error = Sub(Mul(a_low, b_low), Sub(Sub(Sub(product, Mul(a_high, b_high)), Mul(a_low, b_high)), Mul(a_high, b_low)));
  return product;
}

#if HWY_TARGET != HWY_SCALAR

/// Whether a double of these two vectors, a sum rounded to nearest, may hide from a second rounding, to float, what the
/// first one did: it lies half-way between two normal floats, or is not zero and below them. Seen in its 32-bit words.
template <class V>
REPDL_LANE bool MustRoundOnce(V low, V high) {
  const hn::Repartition<int32_t, hn::DFromV<V>> d;
  const auto low_words = hn::ConcatEven(d, BitCast(d, high), BitCast(d, low));
  const auto high_words = hn::ConcatOdd(d, BitCast(d, high), BitCast(d, low));
  const auto is_half = Eq(And(low_words, Set(d, 0x1fffffff)), Set(d, 0x10000000));
  // 0 < |x| < 2^-126, moved so that one comparison tells: the difference wraps around for zero.
  const auto magnitude = And(high_words, Set(d, 0x7fffffff));
  const auto is_tiny = Lt(Add(magnitude, Set(d, INT32_MAX)), Set(d, INT32_MIN + 0x380fffff));
  return Any(d, Or(is_half, is_tiny));
}

/// Nearly all sums may be rounded twice, to double and to float, which costs much less than rounding to odd.
template <class V>
REPDL_LANE V FmaOfFloats(V a, V b, V c) {
  const hn::DFromV<V> d;
  const hn::Half<decltype(d)> half;
  const hn::Rebind<double, decltype(half)> wide;
  const auto sum_of = [&](auto x, auto y, auto z)
                          HWY_ATTR { return Add(Mul(ToDouble(wide, x), ToDouble(wide, y)), ToDouble(wide, z)); };
  const auto low = sum_of(hn::LowerHalf(half, a), hn::LowerHalf(half, b), hn::LowerHalf(half, c));
  const auto high = sum_of(hn::UpperHalf(half, a), hn::UpperHalf(half, b), hn::UpperHalf(half, c));
  if (MustRoundOnce(low, high)) [[unlikely]]
    return ViaDouble(FmaOfWidened(), a, b, c);
  return hn::Combine(d, ToFloat(half, high), ToFloat(half, low));
}

#else

/// The same of one double.
template <class V>
REPDL_LANE bool MustRoundOnce(V sum) {
  const auto bits = std::bit_cast<uint64_t>(sum.raw);
  const uint64_t magnitude = bits << 1 >> 1;
  return (bits & 0x1fffffff) == 0x10000000 || magnitude - 1 < std::bit_cast<uint64_t>(0x1p-126) - 1;
}

template <class V>
REPDL_LANE V FmaOfFloats(V a, V b, V c) {
  const hn::DFromV<V> d;
  const hn::Rebind<double, decltype(d)> wide;
  const auto sum = Add(Mul(ToDouble(wide, a), ToDouble(wide, b)), ToDouble(wide, c));
  if (MustRoundOnce(sum)) [[unlikely]]
    return ViaDouble(FmaOfWidened(), a, b, c);
  return ToFloat(d, sum);
}

#endif

/// Every lane by itself, where a step of FmaOfDoubles might overflow or underflow.
template <class V>
HWY_NOINLINE V FmaOfAnyDoubles(V a, V b, V c) {
  const hn::DFromV<V> d;
  constexpr size_t kCount = hn::MaxLanes(d);
  HWY_ALIGN double x[kCount], y[kCount], z[kCount];
  Store(a, d, x);
  Store(b, d, y);
  Store(c, d, z);
  for (size_t i = 0; i < kCount; ++i) z[i] = FmaInIntegers(x[i], y[i], z[i]);
  return Load(d, z);
}

/// Not inlined: the functions of doubles have it in nearly every step, and would take six times as long to compile.
template <class V>
HWY_NOINLINE V FmaOfDoubles(V a, V b, V c) {
  const hn::DFromV<V> d;
  V product_error, sum_error, tail;
  const V product = TwoProd(a, b, product_error);
  const V sum = TwoSum(product, c, sum_error);
  const V rest = TwoSum(sum_error, product_error, tail);
  const V result = Add(sum, rest);
  // What the sum lacks, of which the tail was rounded away, lies between these two: where they give one result, so does it.
  const V low = Add(sum, Mul(rest, Set(d, 1 - 0x1p-52))), high = Add(sum, Mul(rest, Set(d, 1 + 0x1p-52)));
  const V zero = Zero(d);
  const auto is_rounded_once = Or(Eq(low, high), Eq(tail, zero));
  // From there on the error of the product is a double; a factor of zero has none. A step that overflowed leaves infinity
  // or NaN.
  const auto is_exact = Or(Ge(Abs(product), Set(d, 0x1p-960)), Or(Eq(a, zero), Eq(b, zero)));
  const auto is_finite = Lt(Abs(result), Inf(d));
  if (!All(d, And(And(is_exact, is_finite), is_rounded_once))) [[unlikely]]
    return FmaOfAnyDoubles(a, b, c);
  // With nothing to add the sum has the sign of a zero.
  return IfThenElse(Eq(rest, zero), sum, result);
}

template <class V>
REPDL_LANE V Fma(V a, V b, V c) {
  if constexpr (sizeof(LaneOf<V>) == 4) {
    return FmaOfFloats(a, b, c);
  } else {
    return FmaOfDoubles(a, b, c);
  }
}

#endif

}  // namespace detail

/// a * b + c, rounded once. Without hardware it is computed in software (Boldo and Melquiond, 2008).
template <class V>
REPDL_LANE V Fma(V a, V b, V c) {
  return detail::Fma(a, b, c);
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

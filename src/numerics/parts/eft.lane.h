// SPDX-License-Identifier: MIT
// Error-free transforms.

/// (a + b, its rounding error), exact whichever is larger (Knuth, TAOCP 2, 4.2.2).
template <class V>
REPDL_LANE V TwoSum(V a, V b, V& error) {
  const V sum = Add(a, b);
  const V b_part = Sub(sum, a);
  error = Add(Sub(a, Sub(sum, b_part)), Sub(b, b_part));
  return sum;
}

/// The same for |a| >= |b| or a = 0 (Dekker, 1971).
template <class V>
REPDL_LANE V FastTwoSum(V a, V b, V& error) {
  const V sum = Add(a, b);
  error = Sub(b, Sub(sum, a));
  return sum;
}

/// `sum` moved to its neighbour on the side of `error` where `error` is not zero and the last bit of
/// `sum` is: rounding to odd, after which one more rounding to a format at least two bits shorter is
/// as good as one rounding (Boldo and Melquiond, 2008).
template <class V>
REPDL_LANE V RoundToOdd(V sum, V error) {
  auto d = TagFor(sum);
  const IntTag<decltype(d)> di;
  const auto bits = BitCast(di, sum);
  const auto one = Set(di, 1);
  // A NaN error (from infinities) compares false: infinities and NaN stay what they are.
  const auto inexact = MaskTo(di, Gt(Abs(error), Zero(d)));
  const auto even = Eq(And(bits, one), Zero(di));
  const auto toward_zero = Lt(Xor(bits, BitCast(di, error)), Zero(di));  // signs differ
  const auto step = IfThenElse(toward_zero, Set(di, -1), one);
  return BitCast(d, Add(bits, IfThenElseZero(And(inexact, even), step)));
}

/// Whether all doubles within `error` of `value` round alike to a float, and to shorter formats: none of them is a float
/// or lies in the middle of two. NaN gives anything.
template <class D, class V>
REPDL_LANE auto RoundsAlike(D d, V value, V error) {
  const IntTag<D> di;
  const auto grid = Set(di, -(int64_t{1} << 28));
  return MaskTo(d, Eq(And(BitCast(di, Add(value, error)), grid), And(BitCast(di, Sub(value, error)), grid)));
}

/// A double rounded to odd as a float of the tag: one more rounding, to bfloat16 or float16, is as good as one.
template <class D, class V>
REPDL_LANE auto ToFloatOdd(D d, V wide) {
  const auto dw = TagFor(wide);
  const auto nearest = ToFloat(d, wide);
  const V error = Sub(wide, ToDouble(dw, nearest));
  // Only the sign of the error counts, and it may be too small for a float.
  const V sign = IfThenElseZero(Gt(Abs(error), Zero(dw)), CopySign(Set(dw, 1.0), error));
  return RoundToOdd(nearest, ToFloat(d, sign));
}

// SPDX-License-Identifier: MIT
// What the ops do to an element, in lane words; the contracts stand in fake_quantize.h. `inverse` is that of the scale.

/// Whole numbers, ties to even. Zeros have the sign of x, which Highway's Round loses on SSE2.
template <class V>
REPDL_ROW V ToWhole(V x) {
  return CopySign(Round(x), x);
}

template <bool kZeroFirst, class V>
REPDL_ROW V QuantizedStep(V x, V inverse, V zero) {
  const V place = Mul(x, inverse);
  return kZeroFirst ? ToWhole(Add(place, zero)) : Add(ToWhole(place), zero);
}

template <class V>
REPDL_ROW auto IsWithin(V step, V low, V high) {
  return And(Ge(step, low), Le(step, high));
}

template <class V>
REPDL_ROW V ValueOfStep(V step, V scale, V zero, V low, V high) {
  return Mul(Sub(Limit(step, low, high), zero), scale);
}

/// The gradients by the number, the scale and the zero point.
template <class V>
REPDL_ROW void FakeQuantizeGradOf(V g, V x, V scale, V inverse, V zero, V low, V high, V factor, V& by_input,
                                  V& by_scale, V& by_zero) {
  const V step = QuantizedStep<false>(x, inverse, zero), value = ValueOfStep(step, scale, zero, low, high);
  const auto within = IsWithin(step, low, high);
  const V end = IfThenElse(Lt(step, low), low, high);
  const V slope = IfThenElse(within, Mul(Mul(g, Sub(value, x)), inverse), Mul(g, Sub(end, zero)));
  by_input = IfThenElseZero(within, g);
  by_scale = Mul(slope, factor);
  by_zero = IfThenZeroElse(within, Mul(Mul(Neg(g), scale), factor));
}

template <class V>
REPDL_ROW V QuantizedOf(V x, V inverse, V zero, V low, V high) {
  const V step = QuantizedStep<true>(x, inverse, zero);
  return IfThenElse(IsNaN(step), low, Limit(step, low, high));
}

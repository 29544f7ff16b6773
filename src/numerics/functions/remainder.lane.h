// SPDX-License-Identifier: MIT
/*! fmod
`x - n y` for n = x / y rounded toward zero to a whole number, exact whatever the quotient, with the sign of x. The operands
are broadcast. NaN for infinite x, for y = 0 and where one is NaN; fmod(x, ±inf) = x.
*/

// `rest` less multiples of `by`, until no lane is as large. A multiple by a quotient that is rounded to the format leaves
// at most half an ulp of the quotient times `by`, which is a number of the format; so the step is exact, and a long division.
template <class D, class V>
REPDL_LANE V LessMultiples(D d, V rest, V by) {
  for (auto counts = Ge(Abs(rest), by); Any(d, counts); counts = Ge(Abs(rest), by)) {
    rest = IfThenElse(counts, Fma(Neg(Round(Div(rest, by))), by, rest), rest);
  }
  return rest;
}

// The square of `lift` is beyond any quotient, and so is any quotient's root: with the largest of y, y * lift and y * lift^2
// that is not beyond x, no quotient overflows.
template <class D, class V>
REPDL_LANE V FmodByLift(D d, V x, V y, V lift) {
  const V infinity = Inf(d), by = Abs(y);
  const auto divides = And(Lt(Abs(x), infinity), And(Gt(by, Zero(d)), Lt(by, infinity)));
  const V divisor = IfThenElse(divides, by, infinity);
  V rest = IfThenElseZero(divides, Abs(x));
  const V far = Mul(divisor, lift);
  if (Any(d, Ge(rest, far))) [[unlikely]]
    rest = LessMultiples(d, LessMultiples(d, rest, Mul(far, lift)), far);
  rest = LessMultiples(d, rest, divisor);
  rest = CopySign(IfThenElse(Lt(rest, Zero(d)), Add(rest, by), rest), x);
  const auto by_infinity = And(Lt(Abs(x), infinity), Eq(by, infinity));
  return IfThenElse(divides, rest, IfThenElse(by_infinity, x, Sub(infinity, infinity)));
}

template <class V>
REPDL_LANE V Fmod(V x, V y) {
  const decltype(TagFor(x)) d;
  return FmodByLift(d, x, y, Set(d, 0x1p120f));
}

struct FmodDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x, V y) const {
    return FmodByLift(d, x, y, Set(d, 0x1p1000));
  }
};

/*! remainder
`fmod`, to which y is added, rounded, where it is not 0 and of the other sign than y: x less the multiple of y by x / y
rounded down.
*/
template <class V>
REPDL_LANE V WithSignOf(V y, V rest) {
  const decltype(TagFor(y)) d;
  const auto differs = Or(And(Lt(rest, Zero(d)), Gt(y, Zero(d))), And(Gt(rest, Zero(d)), Lt(y, Zero(d))));
  return IfThenElse(differs, Add(rest, y), rest);
}

template <class V>
REPDL_LANE V Remainder(V x, V y) {
  return WithSignOf(y, Fmod(x, y));
}

struct RemainderDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x, V y) const {
    return WithSignOf(y, FmodDouble()(d, x, y));
  }
};

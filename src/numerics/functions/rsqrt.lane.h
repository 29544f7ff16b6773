// SPDX-License-Identifier: MIT
/*! rsqrt
`1 / sqrt(x)`, correctly rounded. rsqrt(±0) = ±inf, rsqrt(x) = NaN for x < 0, rsqrt(+inf) = +0.
*/

struct RsqrtWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return Div(Set(d, 1.0), Sqrt(x));
  }
};

// y = 1 / sqrt(x) and e = 1 - x y^2: 1 / sqrt(x) = y (1 + e / 2 + 3/8 e^2 + ...).
struct RsqrtDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V one = Set(d, 1.0);
    const V y = Div(one, Sqrt(x));
    V t_error;
    const V t = TwoProd(x, y, t_error);
    const V e = Fma(Neg(t_error), y, Fma(Neg(t), y, one));
    const V low = Mul(Mul(y, e), Fma(e, Set(d, 0.375), Set(d, 0.5)));
    const auto usual = And(Ge(x, Set(d, 0x1p-900)), Le(x, Set(d, 0x1p990)));
    return RoundOr(d, usual, y, low, Mul(y, Set(d, 0x1p-100)), accurate::Rsqrt, x);
  }
};

// In float: y = 1 / sqrt(x) is wrong by less than two units in the last place, and e = 1 - x y^2, in which only last places
// are lost, says by how much: 1 / sqrt(x) = y / sqrt(1 - e) = y + y (e / 2 + 3/8 e^2 + ...).
template <class V>
REPDL_LANE V Rsqrt(V x) {
  const auto d = TagFor(x);
  const V one = Set(d, 1.0f);
  const V y = Div(one, Sqrt(x));
  const V t = Mul(x, y);
  const V t_error = Fma(x, y, Neg(t));
  const V e = Fma(Neg(t_error), y, Fma(Neg(t), y, one));
  const V corrected = Fma(Mul(y, e), Fma(e, Set(d, 0.375f), Set(d, 0.5f)), y);
  // Of 0, infinity and NaN, e is NaN.
  return IfThenElse(IsNaN(e), y, corrected);
}

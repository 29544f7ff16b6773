// SPDX-License-Identifier: MIT
/*! asinh
`asinh(x)`, correctly rounded. asinh(±0) = ±0, asinh(±inf) = ±inf.
*/

// For x >= 0, log(x + sqrt(1 + x^2)), with what rounding took from the root and the sum: near 0 the logarithm needs what
// is above 1 to its own last place.
struct AsinhWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V one = Set(d, 1.0);
    const V a = Abs(x), square = Mul(a, a);
    V square_error, error, log2;
    const V radicand = FastTwoSum(one, square, square_error);
    const V root = Sqrt(radicand);
    const V sum = FastTwoSum(root, a, error);
    const V scale = LogScale(d, sum, log2);
    // The root's error is this / (2 root). Where it counts, the root and scale are 1, or nearly so.
    const V remainder = Add(Fma(Neg(root), root, radicand), square_error);
    const V low = Fma(Mul(remainder, scale), Set(d, 0.5), error);
    V y = LogOf(d, Fma(low, scale, Fma(sum, scale, Neg(one))), log2);
    y = Patch(d, a, y, 0x1.bacb4ap+24, 0x1.1e0696p+4);
    y = Patch(d, a, y, 0x1.b121a6p+75, 0x1.a9a3f2p+5);
    return CopySign(IfThenElse(Lt(a, Inf(d)), y, a), x);
  }
};

template <class V>
REPDL_LANE V Asinh(V x) {
  return ViaDouble(AsinhWide(), x);
}

// Of |x|: log(1 + t) with t = |x| + x^2 / (1 + sqrt(1 + x^2)), or log(2 |x|).
struct AsinhFormula {
  static constexpr bool kScaled = false;
  static constexpr double kBound = 0x1p-68;
  template <class N, class D, class V>
  static REPDL_LANE N Of(D d, V&, V x) {
    const V a = Abs(x), zero = Zero(d);
    const auto large = Gt(a, Set(d, 0x1p200));
    V n;
    const N big = Exactly<N>(d, Moderate(d, a, n)), one = Exactly<N>(d, Set(d, 1.0));
    const N small = Exactly<N>(d, IfThenZeroElse(large, a)), square = Times(small, small);
    const N t = Plus(small, Over(square, Plus(one, Root(Plus(one, square)))));
    const V more = IfThenElseZero(large, Add(n, Set(d, 1.0)));
    const auto near = Lt(V(t.high), IfThenElse(large, zero, Set(d, 0.0048)));
    return LogNumber(d, Choose(large, big, Plus(one, t)), more, near, t);
  }
};

struct AsinhDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V a = Abs(x);
    V y = Correctly<AsinhFormula>(d, x);
    y = IfThenElse(Lt(a, Set(d, 0x1p-28)), a, y);
    return CopySign(IfThenElse(Lt(a, Inf(d)), y, a), x);
  }
};

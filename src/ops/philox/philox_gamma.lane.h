// SPDX-License-Identifier: MIT
// Samples of gamma distributions. The contract stands in philox.h.

/// words(t, w0, w1, w2, w3) gives the words of attempt t.
template <class VI, class V, class Words>
REPDL_LANE V GammaOf(V alpha, const Words& words) {
  const auto d = TagFor(alpha);
  const V one = Set(d, 1.0f), smallest = Set(d, 0x1p-126f);
  const auto is_small = Lt(alpha, one);
  const V shape = Sub(IfThenElse(is_small, Add(alpha, one), alpha), Set(d, static_cast<float>(1.0 / 3.0)));
  const V scale = Sqrt(Mul(shape, Set(d, 9.0f)));
  V drawn = shape;
  VI w0, w1, w2, w3;
  words(0, w0, w1, w2, w3);
  const VI first_word = w3;
  auto pending = Eq(one, one);
  for (int t = 0; t < kDrawAttempts && Any(d, pending); ++t) {
    if (t > 0) words(t, w0, w1, w2, w3);
    const V radius = Sqrt(Mul(Log(OpenUnitOf(w0)), Set(d, -2.0f)));
    const V x = Mul(radius, CosPi(Mul(UnitOf(w1), Set(d, 2.0f))));
    const V root = Add(one, Div(x, scale));
    const V v = Mul(Mul(root, root), root);
    const V square = Add(Mul(Mul(x, x), Set(d, 0.5f)), shape);
    const V bound = Add(Sub(square, Mul(shape, v)), Mul(shape, Log(IfThenElse(Lt(v, smallest), smallest, v))));
    const auto accepted = And(pending, And(Gt(v, Zero(d)), Lt(Log(OpenUnitOf(w2)), bound)));
    drawn = IfThenElse(accepted, Mul(shape, v), drawn);
    pending = And(pending, Not(accepted));
  }
  if (Any(d, is_small)) {
    const V power = Pow(OpenUnitOf(first_word), Div(one, alpha));
    drawn = IfThenElse(is_small, Mul(drawn, power), drawn);
  }
  drawn = IfThenElse(Lt(drawn, smallest), smallest, drawn);
  return IfThenElse(Gt(alpha, Zero(d)), drawn, Sub(Inf(d), Inf(d)));
}

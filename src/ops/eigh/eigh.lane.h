// SPDX-License-Identifier: MIT
// What eigh does to single numbers, in lane words; the contracts stand in eigh.h.

/// g and the number of y, or of p, that belongs to v.
REPDL_LANE double TakeIn(double g, double y, double v, double tau) { return Fma(Mul(tau, y), v, g); }
REPDL_LANE double TakeIn(double g, const Complex& y, const Complex& v, const Complex& /*tau*/) {
  return Fma(y.im, v.im, Fma(y.re, v.re, g));
}

/// h of g.
REPDL_LANE double ShareOf(double tau, double g) { return Mul(Mul(tau, 0.5), g); }
REPDL_LANE double ShareOf(const Complex& tau, double g) { return Mul(Mul(SquaresOf(tau), 0.5), g); }

/// The number of w that belongs to p and v.
REPDL_LANE double WithoutShare(double p, double h, double v) { return Fma(Neg(h), v, p); }
REPDL_LANE Complex WithoutShare(const Complex& p, double h, const Complex& v) {
  return {WithoutShare(p.re, h, v.re), WithoutShare(p.im, h, v.im)};
}

/// A sweep over the rows from l to m.
REPDL_LANE void Sweep(int64_t l, Search& search, Rotations& rotations) {
  double *const d = search.d, *const e = search.e;
  const int64_t m = search.m;
  ++search.sweeps;
  rotations.Begin(l, m - l);
  const double slope = Div(Sub(d[m - 1], d[m]), Mul(2.0, e[m - 1]));
  const double size = Sqrt(Add(Mul(slope, slope), 1.0));
  double g = Add(Sub(d[l], d[m]), Div(e[m - 1], Add(slope, slope < 0.0 ? Neg(size) : size)));
  double c = 1.0, s = 1.0, p = 0.0;
  for (int64_t i = l; i < m; ++i) {
    const double f = Mul(s, e[i]), b = Mul(c, e[i]);
    const Rotation rotation = Rotation::Of(g, f);
    c = rotation.c, s = rotation.s;
    if (i > l) e[i - 1] = rotation.r;
    g = Sub(d[i], p);
    const double r = Add(Mul(Sub(d[i + 1], g), s), Mul(2.0, Mul(c, b)));
    p = Mul(s, r);
    d[i] = Add(g, p);
    g = Sub(Mul(c, r), b);
    rotations.Take(rotation);
  }
  d[m] = Sub(d[m], p);
  e[m - 1] = g;
}

/// Sweeps until all values are found or the search is given up, which is true, or the rotations have to be done first.
REPDL_LANE bool Diagonalize(Search& search, Rotations& rotations) {
  for (int64_t l = search.BeginOfBlock(); l >= 0; l = search.BeginOfBlock()) {
    if (!rotations.HasRoomFor(search.m - l)) return false;
    Sweep(l, search, rotations);
  }
  return true;
}

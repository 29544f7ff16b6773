// SPDX-License-Identifier: MIT
// What svd does to single numbers, in lane words; the contracts stand in svd.h.

/// The first rotation's f of a sweep over [l, m]; numbers of d up to `least` become 0.
REPDL_LANE double FirstOfSweep(const double* e, int64_t l, int64_t m, double least, double* d) {
  bool singular = false;
  for (int64_t i = l; i <= m; ++i) {
    if (Abs(d[i]) <= least) d[i] = 0.0, singular = true;
  }
  if (singular) return d[l];
  const double a = Abs(d[m - 1]), b = Abs(d[m]), square = Mul(e[m - 1], e[m - 1]);
  const double x = Sqrt(Add(Mul(Add(a, b), Add(a, b)), square)), y = Sqrt(Add(Mul(Sub(a, b), Sub(a, b)), square));
  const double shift = Div(Mul(a, b), Mul(Add(x, y), 0.5));
  if (shift == 0.0) return d[l];
  return Mul(Sub(Abs(d[l]), shift), Add(d[l] < 0.0 ? -1.0 : 1.0, Div(shift, d[l])));
}

/// A sweep over the rows from l to m.
REPDL_LANE void Sweep(int64_t l, Search& search, Rotations& of_u, Rotations& of_v) {
  double *const d = search.d, *const e = search.e;
  const int64_t m = search.m;
  ++search.sweeps;
  of_u.Begin(l, m - l);
  of_v.Begin(l, m - l);
  double f = FirstOfSweep(e, l, m, search.least, d), g = e[l];
  for (int64_t i = l; i < m; ++i) {
    const Rotation v = Rotation::Of(f, g);
    if (i > l) e[i - 1] = v.r;
    f = Add(Mul(v.c, d[i]), Mul(v.s, e[i]));
    e[i] = Sub(Mul(v.c, e[i]), Mul(v.s, d[i]));
    g = Mul(v.s, d[i + 1]);
    d[i + 1] = Mul(v.c, d[i + 1]);
    const Rotation u = Rotation::Of(f, g);
    d[i] = u.r;
    f = Add(Mul(u.c, e[i]), Mul(u.s, d[i + 1]));
    d[i + 1] = Sub(Mul(u.c, d[i + 1]), Mul(u.s, e[i]));
    if (i + 1 < m) {
      g = Mul(u.s, e[i + 1]);
      e[i + 1] = Mul(u.c, e[i + 1]);
    }
    of_u.Take(u);
    of_v.Take(v);
  }
  e[m - 1] = f;
}

/// Sweeps until all values are found or the search is given up, which is true, or the rotations have to be done first.
REPDL_LANE bool Diagonalize(Search& search, Rotations& of_u, Rotations& of_v) {
  for (int64_t l = search.BeginOfBlock(); l >= 0; l = search.BeginOfBlock()) {
    if (!of_u.HasRoomFor(search.m - l)) return false;
    Sweep(l, search, of_u, of_v);
  }
  return true;
}

/// Makes the first of the largest numbers of x positive, and multiplies y by the same sign.
REPDL_LANE void SetSign(double* x, int64_t n, double* y, int64_t count) {
  const double sign = SignOfLargest(x, n);
  for (int64_t i = 0; i < n; ++i) x[i] = TimesWithoutSign(x[i], sign);
  for (int64_t i = 0; i < count; ++i) y[i] = TimesWithoutSign(y[i], sign);
}
/// Or real and positive, by a number of size 1, and multiplies y by its conjugate. Number i of a row is row[i].
template <class Row>
REPDL_LANE void SetSign(const Row& x, int64_t n, const Row& y, int64_t count) {
  const Phase phase = Phase::Of(x, n);
  for (int64_t i = 0; i < n; ++i) PutNumber(x, i, TimesWithoutSign(x[i], phase.p));
  PutNumber(x, phase.place, {phase.size, 0.0});
  for (int64_t i = 0; i < count; ++i) PutNumber(y, i, TimesWithoutSign(y[i], Conjugate(phase.p)));
}

// SPDX-License-Identifier: MIT
// The steps of the ops along a line, in lane words, in double; the contracts stand in cumulative.h.

/// A step of logcumsumexp: the result that x gives.
template <class D, class V>
REPDL_ROW V LogSumExpStep(D d, V x, V& largest, V& rest) {
  const V m = largest, r = rest;
  const V e = ExpOfEach(IfThenZeroElse(Eq(x, m), Neg(Abs(Sub(x, m)))));
  const auto grows = Gt(x, m);
  const V next = IfThenElse(grows, Mul(Add(r, Set(d, 1.0)), e), Add(r, e));
  const V peak = IfThenElse(grows, x, m);
  rest = next;
  largest = peak;
  return IfThenElse(Eq(next, Zero(d)), peak, Add(peak, Log1pOfEach(next)));
}

/// What lines of complex numbers have come to.
template <class V>
struct ComplexProductState {
  static constexpr int64_t kWeight = 1;
  MemberOf<V> real, imaginary;

  template <class D>
  REPDL_ROW explicit ComplexProductState(D d) : real(Set(d, 1.0)), imaginary(Zero(d)) {}
  template <class D>
  REPDL_ROW void Take(D d, bool is_first, V& a, V& b) {
    if (!is_first) ComplexMul()(d, V(real), V(imaginary), a, b, a, b);
    real = a, imaginary = b;
  }
};

template <class V>
struct ComplexLogSumExpState {
  static constexpr int64_t kWeight = 32;
  MemberOf<V> largest, largest_turn;  // the number of the largest real part
  MemberOf<V> rest, rest_imaginary;
  MemberOf<V> last, last_turn;

  template <class D>
  REPDL_ROW explicit ComplexLogSumExpState(D d)
      : largest(Neg(Inf(d))),
        largest_turn(Zero(d)),
        rest(Zero(d)),
        rest_imaginary(Zero(d)),
        last(Neg(Inf(d))),
        last_turn(Zero(d)) {}

  template <class D>
  REPDL_ROW void Take(D d, bool, V& a, V& b) {
    const V zero = Zero(d), infinity = Inf(d), nothing = Neg(infinity);
    V m = largest, p = largest_turn, r = rest, s = rest_imaginary;
    const V l = last, q = last_turn;

    const auto grows = Gt(a, m);
    const V distance = IfThenZeroElse(Eq(a, m), Neg(Abs(Sub(a, m))));
    const V turn = IfThenElse(grows, Sub(p, b), Sub(b, p));
    const V size = IfThenZeroElse(Eq(a, nothing), ExpOfEach(distance));
    const auto is_none = Eq(size, zero);
    const V e = IfThenZeroElse(is_none, Mul(size, RealCos(d, turn)));
    const V f = IfThenZeroElse(is_none, Mul(size, RealSin(d, turn)));
    V u, v;
    ComplexMul()(d, Add(r, Set(d, 1.0)), s, e, f, u, v);
    const auto is_top = And(Eq(m, infinity), Eq(a, infinity));
    const auto is_nan = Or(IsNaN(a), IsNaN(b));
    r = IfThenElse(grows, u, Add(r, e));
    s = IfThenElse(grows, v, Add(s, f));
    m = IfThenElse(is_nan, Add(a, b), IfThenElse(grows, a, m));
    p = IfThenElse(grows, b, p);

    ComplexLog1p()(d, r, s, u, v);
    const V angle = Add(p, v), near = IfThenElse(Lt(a, l), q, b);
    const V turns = Round(Mul(IfThenZeroElse(Eq(near, angle), Sub(near, angle)), Set(d, 0x1.45f306dc9c883p-3)));
    const V turned = Add(Fma(turns, Set(d, 0x1.921fb54442d18p+2), angle), Mul(turns, Set(d, 0x1.1a62633145c07p-52)));
    V real = Add(m, u), imaginary = IfThenElse(Eq(turns, zero), angle, turned);
    if (Any(d, is_top)) {
      ComplexLogaddexp::OfInfinities(d, q, b, u, v);
      real = IfThenElse(is_top, u, real);
      imaginary = IfThenElse(is_top, v, imaginary);
      p = IfThenElse(is_top, imaginary, p);
      m = IfThenElse(And(is_top, IsNaN(v)), v, m);
      r = IfThenZeroElse(is_top, r);
      s = IfThenZeroElse(is_top, s);
    }
    imaginary = IfThenZeroElse(Eq(m, nothing), imaginary);
    imaginary = IfThenElse(IsNaN(m), m, imaginary);
    largest = m, largest_turn = p;
    rest = r, rest_imaginary = s;
    a = real, b = imaginary;
    last = a, last_turn = b;
  }
};

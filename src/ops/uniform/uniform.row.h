// SPDX-License-Identifier: MIT
// What the ops do to an element, or to a pair of them, in lane words; the contracts stand in uniform.h.

template <class T>
struct UniformText {
  T range, low;

  template <class D, class V>
  REPDL_ROW V operator()(D d, V u) const {
    return Fma(u, Set(d, range), Set(d, low));
  }
};

/// Numbers of the normal distribution, in the place of two uniform ones.
template <class D, class V>
REPDL_ROW void BoxMullerPair(D d, float mean, float std, V& first, V& second) {
  const V radius = Sqrt(Mul(Log(Sub(Set(d, 1.0f), first)), Set(d, -2.0f)));
  const V turns = Mul(second, Set(d, 2.0f));
  first = Add(Mul(Mul(radius, CosPi(turns)), Set(d, std)), Set(d, mean));
  second = Add(Mul(Mul(radius, SinPi(turns)), Set(d, std)), Set(d, mean));
}

// SPDX-License-Identifier: MIT
/*! cube
Of float32 and float64 `(x * x) * x`, each product rounded. Of bfloat16 and float16 `x^3`, rounded once.
*/
struct CubeWide {
  template <class D, class V>
  REPDL_LANE V operator()(D, V x) const {
    return Mul(Mul(x, x), x);
  }
};

template <class V>
REPDL_LANE V Cube(V x) {
  return Mul(Mul(x, x), x);
}

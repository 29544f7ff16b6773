// SPDX-License-Identifier: MIT
// The steps of segment_reduce, in lane words; the contract stands in segment_reduce.h.

struct AddStep {
  template <class V>
  REPDL_LANE V operator()(V sum, V x) const {
    return Add(sum, x);
  }
};
struct MulStep {
  template <class V>
  REPDL_LANE V operator()(V product, V x) const {
    return Mul(product, x);
  }
};
/// Of equals the first stays, as does a NaN.
struct MaxStep {
  template <class V>
  REPDL_LANE V operator()(V largest, V x) const {
    const auto taken = Or(Gt(x, largest), IsNaN(x));
    return IfThenElse(taken, x, largest);
  }
};
struct MinStep {
  template <class V>
  REPDL_LANE V operator()(V smallest, V x) const {
    const auto taken = Or(Lt(x, smallest), IsNaN(x));
    return IfThenElse(taken, x, smallest);
  }
};

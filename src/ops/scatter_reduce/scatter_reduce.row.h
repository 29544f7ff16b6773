// SPDX-License-Identifier: MIT
// How terms meet the number of their place, and what that begins with, in lane words. The contract stands in
// scatter_reduce.h.

template <class T>
struct SumOfTerms {
  static constexpr T kFirst = 0;
  template <class V>
  REPDL_LANE V operator()(V sum, V x) const {
    return Add(sum, x);
  }
};

template <class T>
struct ProductOfTerms {
  static constexpr T kFirst = 1;
  template <class V>
  REPDL_LANE V operator()(V product, V x) const {
    return Mul(product, x);
  }
};

template <class T>
struct LargestOfTerms {
  static constexpr T kFirst = -std::numeric_limits<T>::infinity();
  template <class V>
  REPDL_LANE V operator()(V largest, V x) const {
    return Maximum(largest, x);
  }
};

template <class T>
struct SmallestOfTerms {
  static constexpr T kFirst = std::numeric_limits<T>::infinity();
  template <class V>
  REPDL_LANE V operator()(V smallest, V x) const {
    return Minimum(smallest, x);
  }
};

/// use(how) of the reduction. A mean is a sum, which is divided in the end.
template <class T, class Use>
void WithReduction(IndexReduction reduce, const Use& use) {
  switch (reduce) {
    case IndexReduction::kProd: return use(ProductOfTerms<T>());
    case IndexReduction::kAmax: return use(LargestOfTerms<T>());
    case IndexReduction::kAmin: return use(SmallestOfTerms<T>());
    default: return use(SumOfTerms<T>());
  }
}

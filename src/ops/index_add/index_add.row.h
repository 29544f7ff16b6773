// SPDX-License-Identifier: MIT
// How a term meets the sum of its row, in lane words.

enum class Factors { kNone, kFactor, kFactorAndDivisor };

/// A term, times its factor, over its divisor, is added to the sum. `kFactors` are the most that there may be.
template <class T, Factors kFactors>
struct AddTerm {
  const T* factors = nullptr;
  int64_t factor_stride = 0;
  const T* divisors = nullptr;

  template <class V>
  REPDL_LANE V Term(V x, [[maybe_unused]] int64_t t) const {
    [[maybe_unused]] const decltype(TagFor(x)) d;
    if constexpr (kFactors != Factors::kNone) {
      if (factors != nullptr) x = Mul(x, Set(d, factors[t * factor_stride]));
    }
    if constexpr (kFactors == Factors::kFactorAndDivisor) {
      if (divisors != nullptr) x = Div(x, Set(d, divisors[t]));
    }
    return x;
  }
  template <class V>
  REPDL_LANE V operator()(V sum, V x, int64_t t) const {
    return Add(sum, Term(x, t));
  }
};

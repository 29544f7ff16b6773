// SPDX-License-Identifier: MIT
// Steps of the loss and its gradient for places of numbers T, in lane words; the contract stands in ctc_loss.h.

/// Exponentials of less are +0, so that none takes the longer way of subnormal results.
template <class T>
constexpr T kLeast = sizeof(T) == 4 ? T{-87} : T{-700};

/// e(x) of the contract, but +0 for NaN.
template <class T, class V>
REPDL_LANE V PartOfSum(V x) {
  const auto counts = Ge(x, Set(TagFor(x), kLeast<T>));
  return IfThenElseZero(counts, ExpOfEach(IfThenElseZero(counts, x)));
}

/// e(x) of the contract.
template <class T, class V>
REPDL_LANE V Share(V x) {
  const auto below = Lt(x, Set(TagFor(x), kLeast<T>));
  return IfThenZeroElse(below, ExpOfEach(IfThenZeroElse(below, x)));
}

template <class T, class V>
REPDL_LANE V LogSum(V x, V y, V z) {
  const auto rises = Lt(x, y);
  const V larger = IfThenElse(rises, y, x), p = IfThenElse(rises, x, y);
  const V q = IfThenElse(Lt(larger, z), larger, z);
  const V m = Maximum(Maximum(x, y), z);
  // Where m is infinite or NaN, no part counts.
  return Add(m, Log1pOfEach(Add(PartOfSum<T>(Sub(p, m)), PartOfSum<T>(Sub(q, m)))));
}

/// The gradient of a class of this share; log_prob() is read with `by_scores` alone.
template <class V, class LogProb>
REPDL_LANE V GradOfShare(bool by_scores, V share, V factor, const LogProb& log_prob) {
  V difference = Neg(share);
  if (by_scores) difference = Sub(ExpOfEach(log_prob()), share);
  return Mul(difference, factor);
}

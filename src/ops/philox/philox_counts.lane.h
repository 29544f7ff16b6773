// SPDX-License-Identifier: MIT
// Poisson's and the binomial distribution. The contracts stand in philox.h. LogOfNumber and its like are the
// functions of doubles, from the includer; numbers(t, u0, u1) gives the uniform numbers of attempt t.

template <class D, class V>
REPDL_LANE V RoundDown(D d, V x) {
  const V nearest = Round(x);
  return IfThenElse(Gt(nearest, x), Sub(nearest, Set(d, 1.0)), nearest);
}

/// The first k, at most 99, for which u is below the sum of the probabilities of 0 to k; ratio(k) is that of k to that of k - 1.
template <class D, class V, class Ratio>
REPDL_LANE V SearchedCount(D d, V u, V probability, const Ratio& ratio) {
  V count = Zero(d), total = probability;
  auto is_above = Ge(u, total);
  for (int k = 1; k < 100 && Any(d, is_above); ++k) {
    count = IfThenElse(is_above, Add(count, Set(d, 1.0)), count);
    probability = Mul(probability, ratio(Set(d, static_cast<double>(k))));
    total = Add(total, probability);
    is_above = Ge(u, total);
  }
  return count;
}

/// What the parameters give for every attempt.
template <class D, class V>
struct PoissonAttempts {
  MemberOf<V> rate, b, a, inverse_alpha, sure, log_rate;

  REPDL_LANE explicit PoissonAttempts(D d, V of_rate) : rate(of_rate) {
    b = Add(Mul(Sqrt(V(rate)), Set(d, 2.53)), Set(d, 0.931));
    a = Sub(Mul(V(b), Set(d, 0.02483)), Set(d, 0.059));
    inverse_alpha = Add(Div(Set(d, 1.1328), Sub(V(b), Set(d, 3.4))), Set(d, 1.1239));
    sure = Sub(Set(d, 0.9277), Div(Set(d, 3.6224), Sub(V(b), Set(d, 2.0))));
    log_rate = LogOfNumber(V(rate));
  }
  REPDL_LANE V Otherwise(D d) const { return RoundDown(d, V(rate)); }
  REPDL_LANE V Count(D d, V x, V edge) const {
    const V slope = Add(Div(Mul(V(a), Set(d, 2.0)), edge), V(b));
    return RoundDown(d, Add(Add(Mul(slope, x), V(rate)), Set(d, 0.43)));
  }
  REPDL_LANE V Held(D d, V k) const { return IfThenElse(Lt(k, Zero(d)), Zero(d), k); }
  REPDL_LANE auto IsPossible(D d, V k, V edge, V y) const {
    return And(Ge(k, Zero(d)), Or(Ge(edge, Set(d, 0.013)), Le(y, edge)));
  }
  REPDL_LANE auto IsSure(D d, V, V edge, V y) const { return And(Ge(edge, Set(d, 0.07)), Le(y, V(sure))); }
  REPDL_LANE V Height(D, V y, V edge) const {
    return LogOfNumber(Div(Mul(y, V(inverse_alpha)), Add(Div(V(a), Mul(edge, edge)), V(b))));
  }
  REPDL_LANE V Bound(D d, V k) const {
    return Sub(Sub(Mul(k, V(log_rate)), V(rate)), LgammaOfNumber(Add(k, Set(d, 1.0))));
  }
};

template <class D, class V>
struct BinomialAttempts {
  MemberOf<V> n, middle, b, a, sure, alpha, mode, log_odds, highest;

  REPDL_LANE BinomialAttempts(D d, V of_n, V q) : n(of_n) {
    const V one = Set(d, 1.0), failure = Sub(one, q), mean = Mul(of_n, q);
    const V deviation = Sqrt(Mul(mean, failure));
    middle = Add(mean, Set(d, 0.5));
    b = Add(Mul(deviation, Set(d, 2.53)), Set(d, 1.15));
    a = Add(Sub(Mul(V(b), Set(d, 0.0248)), Set(d, 0.0873)), Mul(q, Set(d, 0.01)));
    sure = Sub(Set(d, 0.92), Div(Set(d, 4.2), V(b)));
    alpha = Mul(Add(Div(Set(d, 5.1), V(b)), Set(d, 2.83)), deviation);
    mode = RoundDown(d, Mul(Add(V(n), one), q));
    log_odds = LogOfNumber(Div(q, failure));
    highest = Factorials(d, V(mode));
  }
  REPDL_LANE V Factorials(D d, V k) const {
    const V one = Set(d, 1.0);
    return Add(LgammaOfNumber(Add(k, one)), LgammaOfNumber(Add(Sub(V(n), k), one)));
  }
  REPDL_LANE V Otherwise(D) const { return V(mode); }
  REPDL_LANE V Count(D d, V x, V edge) const {
    const V slope = Add(Div(Mul(V(a), Set(d, 2.0)), edge), V(b));
    return RoundDown(d, Add(Mul(slope, x), V(middle)));
  }
  REPDL_LANE V Held(D d, V k) const { return IfThenElse(And(Ge(k, Zero(d)), Le(k, V(n))), k, V(mode)); }
  REPDL_LANE auto IsPossible(D d, V k, V, V) const { return And(Ge(k, Zero(d)), Le(k, V(n))); }
  REPDL_LANE auto IsSure(D d, V k, V edge, V y) const {
    return And(IsPossible(d, k, edge, y), And(Ge(edge, Set(d, 0.07)), Le(y, V(sure))));
  }
  REPDL_LANE V Height(D, V y, V edge) const {
    return LogOfNumber(Div(Mul(y, V(alpha)), Add(Div(V(a), Mul(edge, edge)), V(b))));
  }
  REPDL_LANE V Bound(D d, V k) const {
    return Add(Sub(V(highest), Factorials(d, k)), Mul(Sub(k, V(mode)), V(log_odds)));
  }
};

/// The first attempt that is accepted, in the lanes that are `pending`.
template <class D, class V, class M, class Attempts, class Numbers>
REPDL_LANE V AcceptedCount(D d, M pending, const Attempts& attempts, V u0, V u1, const Numbers& numbers) {
  V count = attempts.Otherwise(d);
  for (int t = 0; t < kDrawAttempts && Any(d, pending); ++t) {
    if (t > 0) numbers(t, u0, u1);
    const V x = Sub(u0, Set(d, 0.5)), y = Sub(Set(d, 1.0), u1), edge = Sub(Set(d, 0.5), Abs(x));
    const V k = attempts.Count(d, x, edge), held = attempts.Held(d, k);
    auto accepted = And(pending, attempts.IsSure(d, k, edge, y));
    const auto undecided = And(And(pending, Not(accepted)), attempts.IsPossible(d, k, edge, y));
    if (Any(d, undecided)) {
      accepted = Or(accepted, And(undecided, Le(attempts.Height(d, y, edge), attempts.Bound(d, held))));
    }
    count = IfThenElse(accepted, held, count);
    pending = And(pending, Not(accepted));
  }
  return count;
}

/// The probability of a count k to that of k - 1.
template <class V>
struct PoissonRatio {
  MemberOf<V> mean;

  REPDL_LANE V operator()(V k) const { return Div(V(mean), k); }
};
template <class V>
struct BinomialRatio {
  MemberOf<V> trials, odds;

  REPDL_LANE V operator()(V k) const {
    const V zero = Zero(TagFor(k)), left = Sub(V(trials), Sub(k, Set(TagFor(k), 1.0)));
    return Mul(Div(IfThenElse(Lt(left, zero), zero, left), k), V(odds));
  }
};

template <class D, class V, class Numbers>
REPDL_LANE V PoissonOf(D d, V rate, const Numbers& numbers) {
  const V limit = Set(d, 10.0), zero = Zero(d);
  const auto is_valid = And(Ge(rate, zero), Lt(rate, Inf(d)));
  const auto is_small = And(is_valid, Lt(rate, limit)), is_large = And(is_valid, Ge(rate, limit));
  V u0, u1;
  numbers(0, u0, u1);
  V count = Sub(Inf(d), Inf(d));
  if (Any(d, is_small)) {
    const V mean = IfThenElseZero(is_small, rate);
    count = IfThenElse(is_small, SearchedCount(d, u0, ExpOfNumber(Neg(mean)), PoissonRatio<V>{mean}), count);
  }
  if (Any(d, is_large)) {
    const PoissonAttempts<D, V> attempts(d, IfThenElse(is_large, rate, limit));
    count = IfThenElse(is_large, AcceptedCount(d, is_large, attempts, u0, u1, numbers), count);
  }
  return count;
}

template <class D, class V, class Numbers>
REPDL_LANE V BinomialOf(D d, V trials, V prob, const Numbers& numbers) {
  const V zero = Zero(d), one = Set(d, 1.0), limit = Set(d, 10.0);
  const auto is_valid = And(And(Ge(trials, zero), Lt(trials, Inf(d))), And(Ge(prob, zero), Le(prob, one)));
  const auto is_swapped = Gt(prob, Set(d, 0.5));
  const V n = RoundDown(d, trials), q = IfThenElse(is_swapped, Sub(one, prob), prob), mean = Mul(n, q);
  const auto is_small = And(is_valid, Lt(mean, limit)), is_large = And(is_valid, Ge(mean, limit));
  V u0, u1;
  numbers(0, u0, u1);
  V count = Sub(Inf(d), Inf(d));
  if (Any(d, is_small)) {
    const V few = IfThenElseZero(is_small, n), chance = IfThenElseZero(is_small, q);
    const V odds = Div(chance, Sub(one, chance));
    const V first = ExpOfNumber(Mul(few, Log1pOfNumber(Neg(chance))));
    count = IfThenElse(is_small, SearchedCount(d, u0, first, BinomialRatio<V>{few, odds}), count);
  }
  if (Any(d, is_large)) {
    const BinomialAttempts<D, V> attempts(d, IfThenElse(is_large, n, Set(d, 40.0)),
                                          IfThenElse(is_large, q, Set(d, 0.25)));
    count = IfThenElse(is_large, AcceptedCount(d, is_large, attempts, u0, u1, numbers), count);
  }
  return IfThenElse(is_swapped, Sub(n, count), count);
}

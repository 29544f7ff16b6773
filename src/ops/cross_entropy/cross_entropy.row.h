// SPDX-License-Identifier: MIT
// One sample of cross_entropy and its gradient, in words of rows and lanes; the contract stands in cross_entropy.h. The
// places of the row are the classes.

/// X, W and P are the scores, the weights and the target probabilities; the latter two are not read if there are none.
/// Target is a place, or one for each row of a group.
template <class Row, class X, class W, class P, class Target>
struct CrossEntropyRow {
  using T = typename Row::Number;

  Row row;
  X x;
  W weight;
  P probability;
  bool is_weighted, has_probabilities, is_smooth;
  T a, b;         // of label smoothing
  Target target;  // where there are no probabilities

  template <class V>
  REPDL_ROW auto Weighted(auto at, V value) const {
    return is_weighted ? Mul(weight(at), value) : value;
  }
  REPDL_ROW auto Probability(auto at) const {
    const auto d = row.Tag();
    const auto t = probability(at);
    return is_smooth ? Add(Mul(Set(d, a), t), Set(d, b)) : t;
  }

  REPDL_ROW auto Loss() const {
    const auto largest = row.Spread(row.Max(x));
    const auto sum = row.SumByChunk([&](auto at) REPDL_ROW_LAMBDA { return ExpOfEach(Sub(x(at), largest)); });
    const auto log = LogOfEach(row.Spread(sum));
    const auto loss = [&](auto at) REPDL_ROW_LAMBDA { return Sub(log, Sub(x(at), largest)); };
    if (has_probabilities) {
      return row.Sum([&](auto at) REPDL_ROW_LAMBDA { return Weighted(at, Mul(Probability(at), loss(at))); });
    }
    const auto weighted = [&](auto at) REPDL_ROW_LAMBDA { return Weighted(at, loss(at)); };
    const auto of_target = row.Get(target, weighted);
    if (!is_smooth) return of_target;
    const auto d = row.Tag();
    return row.OneOf(Add(Mul(Set(d, a), row.Spread(of_target)), Mul(Set(d, b), row.Spread(row.Sum(weighted)))));
  }

  /// `weight_sum` is the Sum of the weights, or the number of classes; `factor` and `outer` multiply the gradient.
  template <class Outer, class Grad>
  REPDL_ROW void Gradient(T weight_sum, T factor, Outer outer, const Grad& grad) const {
    const auto d = row.Tag();
    const auto largest = row.Spread(row.Max(x));
    row.Each([&](auto at) REPDL_ROW_LAMBDA { grad.Put(at, ExpOfEach(Sub(x(at), largest))); });
    const auto sum = row.Spread(row.Sum(grad)), f = Set(d, factor), g = row.Spread(outer);
    if (has_probabilities) {
      const auto share = [&](auto at) REPDL_ROW_LAMBDA { return Weighted(at, Probability(at)); };
      const auto share_sum = row.Spread(row.Sum(share));
      return row.Each([&](auto at) REPDL_ROW_LAMBDA {
        grad.Put(at, Mul(Mul(Sub(Mul(Div(grad(at), sum), share_sum), share(at)), f), g));
      });
    }
    const auto one = Set(d, T{1}), smooth_a = Set(d, a), smooth_b = Set(d, b), weights = Set(d, weight_sum);
    const auto of_target = is_weighted ? row.Spread(row.Get(target, weight)) : Set(d, T{1});
    const auto exp_of_target = row.Spread(row.Get(target, grad));
    // `is_target` is 1 or 0.
    const auto gradient = [&](auto at, auto exp, auto is_target) REPDL_ROW_LAMBDA {
      const auto p = Div(exp, sum);
      auto u = Mul(of_target, Sub(p, is_target));
      if (is_smooth) u = Add(Mul(smooth_a, u), Mul(smooth_b, Sub(Mul(p, weights), Weighted(at, one))));
      return Mul(Mul(u, f), g);
    };
    row.Each([&](auto at) REPDL_ROW_LAMBDA { grad.Put(at, gradient(at, grad(at), Zero(d))); });
    row.At(target, [&](auto at) REPDL_ROW_LAMBDA { grad.Put(at, gradient(at, exp_of_target, one)); });
  }
};

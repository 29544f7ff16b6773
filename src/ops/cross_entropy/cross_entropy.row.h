// SPDX-License-Identifier: MIT
// One sample of cross_entropy and its gradient, in words of rows and lanes; the contract stands in cross_entropy.h. The
// places of the row are the classes.

/// X, W and P are the scores, the weights and the target probabilities; the latter two are not read if there are none.
template <class Row, class X, class W, class P>
struct CrossEntropyRow {
  using T = typename Row::Number;

  Row row;
  X x;
  W weight;
  P probability;
  bool is_weighted, has_probabilities, is_smooth;
  T a, b;          // of label smoothing
  int64_t target;  // where there are no probabilities

  template <class V>
  REPDL_ROW auto Weighted(auto at, V value) const {
    return is_weighted ? Mul(weight(at), value) : value;
  }
  REPDL_ROW auto Probability(auto at) const {
    const auto d = row.Tag();
    const auto t = probability(at);
    return is_smooth ? Add(Mul(Set(d, a), t), Set(d, b)) : t;
  }

  REPDL_ROW T Loss() const {
    const auto d = row.Tag();
    const auto largest = Set(d, row.Max(x));
    const auto sum = row.SumByChunk([&](auto at) REPDL_ROW_LAMBDA { return ExpOfEach(Sub(x(at), largest)); });
    const auto log = LogOfEach(Set(d, sum));
    const auto loss = [&](auto at) REPDL_ROW_LAMBDA { return Sub(log, Sub(x(at), largest)); };
    if (has_probabilities) {
      return row.Sum([&](auto at) REPDL_ROW_LAMBDA { return Weighted(at, Mul(Probability(at), loss(at))); });
    }
    const auto weighted = [&](auto at) REPDL_ROW_LAMBDA { return Weighted(at, loss(at)); };
    const T of_target = row.Get(target, weighted);
    return is_smooth ? a * of_target + b * row.Sum(weighted) : of_target;
  }

  /// `weight_sum` is the Sum of the weights, or the number of classes; `factor` and `outer` multiply the gradient.
  template <class Grad>
  REPDL_ROW void Gradient(T weight_sum, T factor, T outer, const Grad& grad) const {
    const auto d = row.Tag();
    const auto largest = Set(d, row.Max(x));
    row.Each([&](auto at) REPDL_ROW_LAMBDA { grad.Put(at, ExpOfEach(Sub(x(at), largest))); });
    const auto sum = Set(d, row.Sum(grad)), f = Set(d, factor), g = Set(d, outer);
    if (has_probabilities) {
      const auto share = [&](auto at) REPDL_ROW_LAMBDA { return Weighted(at, Probability(at)); };
      const auto share_sum = Set(d, row.Sum(share));
      return row.Each([&](auto at) REPDL_ROW_LAMBDA {
        grad.Put(at, Mul(Mul(Sub(Mul(Div(grad(at), sum), share_sum), share(at)), f), g));
      });
    }
    const auto one = Set(d, T{1}), smooth_a = Set(d, a), smooth_b = Set(d, b), weights = Set(d, weight_sum);
    const auto of_target = Set(d, is_weighted ? row.Get(target, weight) : T{1});
    const auto exp_of_target = Set(d, row.Get(target, grad));
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

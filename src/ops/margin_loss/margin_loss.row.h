// SPDX-License-Identifier: MIT
// Rows of multi_margin and its gradient, in words of rows and lanes; the contracts stand in margin_loss.h.

/// max(x, 0), of NaN NaN.
template <class D, class V>
REPDL_ROW V Above(D d, V x) {
  return IfThenElse(Lt(x, Zero(d)), Zero(d), x);
}

/// X and Y are the scores and memory for the terms; Target is a place.
template <class Row, class X, class Y, class Target>
struct MultiMarginRow {
  using T = typename Row::Number;

  Row row;
  X x;
  Y y;
  Target target;
  T margin, weight;
  bool is_squared, is_weighted;

  /// y = term(r) of each class but the target, for which it is +0.
  template <class Term>
  REPDL_ROW void PutTerms(const Term& term) const {
    const auto d = row.Tag();
    const auto away = Sub(Set(d, margin), row.Spread(row.Get(target, x)));
    const auto factor = Set(d, weight);
    row.Each([&](auto at) REPDL_ROW_LAMBDA {
      const auto found = term(Above(d, Add(away, x(at))));
      y.Put(at, is_weighted ? Mul(found, factor) : found);
    });
    row.At(target, [&](auto at) REPDL_ROW_LAMBDA { y.Put(at, Zero(d)); });
  }

  REPDL_ROW auto Loss(T classes) const {
    PutTerms([&](auto reach) REPDL_ROW_LAMBDA { return is_squared ? Mul(reach, reach) : reach; });
    return row.OneOf(Div(row.Spread(row.Sum(y)), Set(row.Tag(), classes)));
  }

  template <class G>
  REPDL_ROW void Gradient(T classes, G g) const {
    const auto d = row.Tag();
    const auto two = Set(d, T{2}), one = Set(d, T{1}), count = Set(d, classes), of_row = row.Spread(g);
    PutTerms([&](auto reach)
                 REPDL_ROW_LAMBDA { return is_squared ? Mul(reach, two) : IfThenElseZero(Gt(reach, Zero(d)), one); });
    row.Each([&](auto at) REPDL_ROW_LAMBDA { y.Put(at, Div(y(at), count)); });
    const auto sum = row.Spread(row.Sum(y));
    row.At(target, [&](auto at) REPDL_ROW_LAMBDA { y.Put(at, Neg(sum)); });
    row.Each([&](auto at) REPDL_ROW_LAMBDA { y.Put(at, Mul(y(at), of_row)); });
  }
};

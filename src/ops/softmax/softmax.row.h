// SPDX-License-Identifier: MIT
// Rows of softmax, log_softmax and their gradients, in words of rows and lanes; the contracts stand in softmax.h. The result
// may take the place of an operand.

template <class Row, class X, class Y>
REPDL_ROW void SoftmaxRow(const Row& row, const X& x, const Y& y) {
  const auto largest = row.Spread(row.Max(x));
  row.Each([&](auto at) REPDL_ROW_LAMBDA { y.Put(at, ExpOfEach(Sub(x(at), largest))); });
  const auto sum = row.Spread(row.Sum(y));
  row.Each([&](auto at) REPDL_ROW_LAMBDA { y.Put(at, Div(y(at), sum)); });
}

/// The same, but +0 if all numbers are -inf.
template <class Row, class X, class Y>
REPDL_ROW void SoftmaxRowOrZero(const Row& row, const X& x, const Y& y) {
  const auto d = row.Tag();
  const auto lowest = Neg(Inf(d));
  if (row.All([&](auto at) REPDL_ROW_LAMBDA { return Eq(x(at), lowest); })) {
    return row.Each([&](auto at) REPDL_ROW_LAMBDA { y.Put(at, Zero(d)); });
  }
  SoftmaxRow(row, x, y);
}

template <class Row, class X, class Y>
REPDL_ROW void LogSoftmaxRow(const Row& row, const X& x, const Y& y) {
  const auto largest = row.Spread(row.Max(x));
  const auto sum = row.SumByChunk([&](auto at) REPDL_ROW_LAMBDA { return ExpOfEach(Sub(x(at), largest)); });
  const auto log = LogOfEach(row.Spread(sum));
  row.Each([&](auto at) REPDL_ROW_LAMBDA { y.Put(at, Sub(Sub(x(at), largest), log)); });
}

template <class Row, class G, class Y, class Grad>
REPDL_ROW void SoftmaxGradRow(const Row& row, const G& g, const Y& y, const Grad& grad) {
  const auto t = row.Spread(row.Sum([&](auto at) REPDL_ROW_LAMBDA { return Mul(g(at), y(at)); }));
  row.Each([&](auto at) REPDL_ROW_LAMBDA { grad.Put(at, Mul(Sub(g(at), t), y(at))); });
}

template <class Row, class G, class Y, class Grad>
REPDL_ROW void LogSoftmaxGradRow(const Row& row, const G& g, const Y& y, const Grad& grad) {
  const auto t = row.Spread(row.Sum(g));
  row.Each([&](auto at) REPDL_ROW_LAMBDA { grad.Put(at, Sub(g(at), Mul(ExpOfEach(y(at)), t))); });
}

// SPDX-License-Identifier: MIT
// A row of logsumexp, in words of rows and lanes; the contract stands in logsumexp.h.

template <class Row, class X>
REPDL_ROW auto LogSumExpOfRow(const Row& row, const X& x) {
  const auto d = row.Tag();
  const auto largest = row.Spread(row.Max(x));
  const auto shift = IfThenElse(Eq(Abs(largest), Inf(d)), Zero(d), largest);
  const auto sum = row.SumByChunk([&](auto at) REPDL_ROW_LAMBDA { return ExpOfEach(Sub(x(at), shift)); });
  return Add(LogOfEach(row.Spread(sum)), shift);
}

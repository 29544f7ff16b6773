// SPDX-License-Identifier: MIT
// What happens to a sum at its end (SumEnd, drivers/reduce.h), in words of rows and lanes.

template <class Row, class T>
REPDL_ROW T EndOfSum(const Row& row, T sum, const SumEnd& end) {
  if (end.factor != 1) sum = sum * static_cast<T>(end.factor);
  if (end.divisor != 1) sum = sum / static_cast<T>(end.divisor);
  return end.root ? row.OneOf(Sqrt(row.Spread(sum))) : sum;
}

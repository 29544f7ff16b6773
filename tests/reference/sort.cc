// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "op.h"
#include "tensors.h"

namespace repdl::reference {
namespace {

/// Whether a stands before b in ascending order: NaN behind all numbers, and zeros alike.
template <class T>
bool IsBelow(T a, T b) {
  if (std::isnan(a)) return false;
  return std::isnan(b) || a < b;
}

/// The places of a row in order.
template <class T>
Indices InOrder(const Numbers<T>& row, bool descending) {
  Indices places;
  for (size_t i = 0; i < row.size(); ++i) places.push_back(static_cast<int64_t>(i));
  std::stable_sort(places.begin(), places.end(), [&](int64_t i, int64_t j) {
    const T a = row[static_cast<size_t>(i)], b = row[static_cast<size_t>(j)];
    return descending ? IsBelow(b, a) : IsBelow(a, b);
  });
  return places;
}

/// The first place with a number that equals the one of this rank.
template <class T>
Indices FirstOfRank(const Numbers<T>& row, int64_t rank) {
  const T found = row[static_cast<size_t>(InOrder(row, false)[static_cast<size_t>(rank)])];
  int64_t place = 0;
  while (IsBelow(row[static_cast<size_t>(place)], found) || IsBelow(found, row[static_cast<size_t>(place)])) ++place;
  return {place};
}

/// `choose` says of each row which places, as many of all, make the results.
template <class T, class Choose>
Results OfRows(const Case& test_case, const Choose& choose) {
  const Arguments args(test_case);
  const Numbers<T> input = args.NumbersOf<T>("input");
  const Layout rows = Layout::Along(args.Shape("input"), args.Int("dim"));
  const IntList shape = args.OutputShape(0);
  const int64_t size = Size(shape);
  Numbers<T> values(static_cast<size_t>(size));
  Indices indices(static_cast<size_t>(size));
  Layout results = rows;
  results.length = rows.rows() == 0 ? 0 : size / rows.rows();
  for (int64_t r = 0; size > 0 && r < rows.rows(); ++r) {
    Numbers<T> row;
    for (int64_t i = 0; i < rows.length; ++i) row.push_back(input[static_cast<size_t>(rows.At(r, i))]);
    const Indices places = choose(row);
    for (int64_t i = 0; i < results.length; ++i) {
      const auto at = static_cast<size_t>(results.At(r, i));
      indices[at] = places[static_cast<size_t>(i)];
      values[at] = row[static_cast<size_t>(indices[at])];
    }
  }
  Results all;
  Append(all, values, shape, args.OutputType(0));
  Append(all, indices, shape);
  return all;
}

template <class T>
int64_t CountOfNan(const Numbers<T>& row) {
  return std::count_if(row.begin(), row.end(), [](T x) { return std::isnan(x); });
}

}  // namespace

template <class T>
static Results RunSort(const Case& test_case) {
  const bool descending = Arguments(test_case).Flag("descending");
  return OfRows<T>(test_case, [=](const Numbers<T>& row) { return InOrder(row, descending); });
}

template <class T>
static Results RunTopk(const Case& test_case) {
  const bool largest = Arguments(test_case).Flag("largest");
  return OfRows<T>(test_case, [=](const Numbers<T>& row) { return InOrder(row, largest); });
}

template <class T>
static Results RunKthvalue(const Case& test_case) {
  const int64_t k = Arguments(test_case).Int("k");
  return OfRows<T>(test_case, [=](const Numbers<T>& row) { return FirstOfRank(row, k - 1); });
}

template <class T>
static Results RunMedian(const Case& test_case) {
  return OfRows<T>(test_case, [](const Numbers<T>& row) {
    const auto n = static_cast<int64_t>(row.size());
    return FirstOfRank(row, CountOfNan(row) > 0 ? n - 1 : (n + 1) / 2 - 1);
  });
}

template <class T>
static Results RunNanmedian(const Case& test_case) {
  return OfRows<T>(test_case, [](const Numbers<T>& row) {
    const int64_t n = static_cast<int64_t>(row.size()) - CountOfNan(row);
    return FirstOfRank(row, n == 0 ? 0 : (n + 1) / 2 - 1);
  });
}

template <class T>
static Results RunMode(const Case& test_case) {
  return OfRows<T>(test_case, [](const Numbers<T>& row) {
    int64_t best_rank = 0, most = 0;
    const Indices places = InOrder(row, false);
    for (size_t rank = 0; rank < places.size(); ++rank) {
      const T number = row[static_cast<size_t>(places[rank])];
      const int64_t count =
          std::count_if(row.begin(), row.end(), [&](T x) { return !IsBelow(x, number) && !IsBelow(number, x); });
      if (count > most) best_rank = static_cast<int64_t>(rank), most = count;
    }
    return FirstOfRank(row, best_rank);
  });
}

static const Op kOps[] = {{"sort", REPDL_EITHER(RunSort)},           {"topk", REPDL_EITHER(RunTopk)},
                          {"kthvalue", REPDL_EITHER(RunKthvalue)},   {"median", REPDL_EITHER(RunMedian)},
                          {"nanmedian", REPDL_EITHER(RunNanmedian)}, {"mode", REPDL_EITHER(RunMode)}};

}  // namespace repdl::reference

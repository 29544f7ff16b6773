// SPDX-License-Identifier: MIT
// Terms that an index gives to rows or numbers, which take them in the order of the index.
#pragma once

#include "drivers/index_terms.h"
#include "drivers/row_cuda.h"
#include "drivers/segment_cuda.h"

namespace repdl::cuda {

/// The rows that terms go to.
template <class T>
struct RowsOfTerms {
  RowTerms<T> args;

  __device__ __forceinline__ int64_t operator()(int64_t t) const {
    return args.to[t] == args.left_out ? -1 : CheckedIndex(args.to[t], args.rows);
  }
};

/// The numbers of the output that those of the source go to.
template <class T>
struct NumbersOfTerms {
  NumberTerms<T> args;

  __device__ __forceinline__ int64_t operator()(int64_t t) const {
    const int64_t index = args.index[t];
    const int64_t column = scalar::TakeRemainder(t, args.inner), term = scalar::TakeRemainder(t, args.terms);
    if (args.kept != nullptr && args.kept[term] == 0) return -1;
    return (t * args.rows + CheckedIndex(index, args.rows)) * args.inner + column;
  }
};

/// use(rows, terms) of sorted terms, of which there is one at least.
template <class T, class Use>
void WithSortedRows(const Place& place, const RowTerms<T>& args, const Use& use) {
  WithSortedTerms(place, args.terms, args.rows, RowsOfTerms<T>{args}, [&](const auto& terms) { use(args, terms); });
}

/// The same of numbers, which are rows of one number.
template <class T, class Use>
void WithSortedRows(const Place& place, const NumberTerms<T>& args, const Use& use) {
  const int64_t count = args.outer * args.terms * args.inner, places = args.outer * args.rows * args.inner;
  if (count == 0) return;
  const RowTerms<T> rows{1, count, 1, nullptr, kNoneLeftOut, nullptr, args.source, count, args.output, places};
  WithSortedTerms(place, count, places, NumbersOfTerms<T>{args}, [&](const auto& terms) { use(rows, terms); });
}

/// The numbers of the rows that terms go to: body(number, first, term_of) by the thread that meets the first of its terms,
/// `first`; term_of(t) is what term t has for it.
template <class T, class Terms, class Body>
__device__ __forceinline__ void ForReachedNumbers(const RowTerms<T>& args, const Terms& terms, const Body& body) {
  const int64_t count = args.outer * args.terms * args.width, num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += num_threads) {
    int64_t slice = i;
    const int64_t column = scalar::TakeRemainder(slice, args.width), at = scalar::TakeRemainder(slice, args.terms);
    if (!terms.Begins(at)) continue;
    const T* const source = args.source + slice * args.source_rows * args.width + column;
    body(args.output[(slice * args.rows + terms.PlaceOf(at)) * args.width + column], at, [&](int64_t t) {
      const int64_t row = args.from == nullptr ? t : CheckedIndex(args.from[t], args.source_rows);
      return source[row * args.width];
    });
  }
}

}  // namespace repdl::cuda

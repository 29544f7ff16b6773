// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

#include "base/op_scratch.h"
#include "repdl/op.h"
#include "repdl/tensor.h"

namespace repdl {

/// What `left_out` is where no term is.
inline constexpr int64_t kNoneLeftOut = INT64_MIN;

/// For each of `outer` slices: term t, which is row `from[t]` of the source, meets row `to[t]` of the output, for t
/// ascending. Rows lie side by side. Indices have been checked, or stop a kernel of a device that meets one out of range.
template <class T>
struct RowTerms {
  int64_t outer, terms, width;
  const int64_t* to;
  int64_t left_out;     // what `to` is for terms that are left out
  const int64_t* from;  // null: t itself
  const T* source;      // (outer, source_rows, width)
  int64_t source_rows;
  T* output;  // (outer, rows, width), which holds what the results begin with
  int64_t rows;
};

/// For each slice o and column i: source[o, t, i] meets output[o, index[o, t, i], i], for t ascending, unless kept[t] is 0.
template <class T>
struct NumberTerms {
  int64_t outer, terms, inner;
  const int64_t* index;  // (outer, terms, inner), as source
  const T* source;
  T* output;  // (outer, rows, inner), which holds what the results begin with
  int64_t rows;
  const int64_t* kept;  // or null

  /// Those of slice o, if it has one column, and all are kept.
  RowTerms<T> Row(int64_t o) const {
    return {1, terms, 1, index + o * terms, kNoneLeftOut, nullptr, source + o * terms, terms, output + o * rows, rows};
  }
};

/// The terms of a call, side by side, with what is before and behind their dimension.
struct TermsAlongDim {
  TensorView source;
  const int64_t* index;
  bool are_rows;  // whether the index, of a number for each row, is that of all slices and columns
  int64_t outer = 1, length = 1, inner = 1, rows = 0;

  bool AreNone() const { return outer * length * inner == 0; }

  template <class T>
  RowTerms<T> Rows(const TensorView& output) const {
    return {outer, length, inner, index, kNoneLeftOut, nullptr, source.Data<const T>(), length, output.Data<T>(), rows};
  }
  template <class T>
  NumberTerms<T> Numbers(const TensorView& output) const {
    return {outer, length, inner, index, source.Data<const T>(), output.Data<T>(), rows, nullptr};
  }
};

/// Slice i of source along dim goes to slice index[i] of input; index (n) or a number, int64. The output is as input.
Specs InferSliceTerms(std::string_view op, const TensorView& input, int64_t dim, const TensorView& index,
                      const TensorView& source);
/// Element i of src along dim goes to place index[i] of its row; index, int64, and src have one shape, which is that of
/// input but for the size along dim. The output is as input.
Specs InferElementTerms(std::string_view op, const TensorView& input, int64_t dim, const TensorView& index,
                        const TensorView& src);

/// The terms of such calls. ValueError unless all of index are in [0, input.shape[dim]).
TermsAlongDim SliceTerms(std::string_view op, const TensorView& input, int64_t dim, const TensorView& index,
                         const TensorView& source, OpScratch& scratch);
TermsAlongDim ElementTerms(std::string_view op, const TensorView& input, int64_t dim, const TensorView& index,
                           const TensorView& src, OpScratch& scratch);

}  // namespace repdl

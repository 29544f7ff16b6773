// SPDX-License-Identifier: MIT
#include "drivers/index_terms.h"

#include "base/check.h"
#include "drivers/contiguous.h"
#include "drivers/indices.h"

namespace repdl {
namespace {

Specs InferTerms(std::string_view op, const TensorView& input, int64_t dim, int64_t length, const TensorView& index,
                 const ArgName& name, const TensorView& source) {
  CheckFloat({op, "input"}, input, input);
  CheckRank({op, "input"}, input, 1, kMaxRank, "(n), (m, n), …");
  CheckDType({op, "index"}, index, DType::kInt64);
  CheckSameDevice({op, "index"}, index, input);
  CheckFloat(name, source, input);
  IntList shape = input.shape;
  shape[CheckDim({op, "dim"}, dim, input.rank())] = length;
  CheckShape(name, source, shape);
  return {{input.dtype, input.shape}};
}

TermsAlongDim TermsOf(std::string_view op, const TensorView& input, int dim, const TensorView& index, bool are_rows,
                      const TensorView& source, OpScratch& scratch) {
  TermsAlongDim terms;
  terms.source = Contiguous(source, scratch);
  terms.index = CheckedIndices({op, "index"}, index, input.shape[dim], scratch);
  terms.are_rows = are_rows;
  for (int i = 0; i < source.rank(); ++i) {
    (i < dim ? terms.outer : i == dim ? terms.length : terms.inner) *= source.shape[i];
  }
  terms.rows = input.shape[dim];
  return terms;
}

}  // namespace

Specs InferSliceTerms(std::string_view op, const TensorView& input, int64_t dim, const TensorView& index,
                      const TensorView& source) {
  CheckRank({op, "index"}, index, 0, 1, "(n) or ()");
  return InferTerms(op, input, dim, index.numel(), index, {op, "source"}, source);
}

Specs InferElementTerms(std::string_view op, const TensorView& input, int64_t dim, const TensorView& index,
                        const TensorView& src) {
  const int64_t length = index.rank() == 0 ? 1 : index.shape[CheckDim({op, "dim"}, dim, index.rank())];
  CheckShape({op, "index"}, index, src.shape);
  return InferTerms(op, input, dim, length, index, {op, "src"}, src);
}

TermsAlongDim SliceTerms(std::string_view op, const TensorView& input, int64_t dim, const TensorView& index,
                         const TensorView& source, OpScratch& scratch) {
  return TermsOf(op, input, CheckDim({op, "dim"}, dim, input.rank()), index, /*are_rows=*/true, source, scratch);
}

TermsAlongDim ElementTerms(std::string_view op, const TensorView& input, int64_t dim, const TensorView& index,
                           const TensorView& src, OpScratch& scratch) {
  const int at = CheckDim({op, "dim"}, dim, input.rank());
  // An index that was expanded from a row is the same for all columns.
  TensorView row = index;
  row.shape = {index.shape[at]}, row.strides = {index.strides[at]};
  bool are_rows = src.numel() > 0;
  for (int i = 0; i < index.rank(); ++i) {
    are_rows = are_rows && (i == at || index.strides[i] == 0 || index.shape[i] == 1);
  }
  return TermsOf(op, input, at, are_rows ? row : index, are_rows, src, scratch);
}

}  // namespace repdl

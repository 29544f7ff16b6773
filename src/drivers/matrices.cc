// SPDX-License-Identifier: MIT
#include "drivers/matrices.h"

#include "drivers/contiguous.h"

namespace repdl {

Matrices MatricesOf(const TensorView& tensor, OpScratch& scratch) {
  // The strides of a tensor without elements may be any, also after a copy.
  if (tensor.numel() == 0) return {tensor.data, tensor.dtype, 0, 0, 0};
  const int rank = tensor.rank();
  int64_t step = 0, inner = -1;
  for (int dim = rank - 3; dim >= 0; --dim) {
    if (tensor.shape[dim] == 1) continue;
    if (inner < 0) {
      step = tensor.strides[dim];
    } else if (tensor.strides[dim] != step * inner) {
      return MatricesOf(Contiguous(tensor, scratch), scratch);
    }
    inner = (inner < 0 ? 1 : inner) * tensor.shape[dim];
  }
  return {tensor.data, tensor.dtype, step, tensor.strides[rank - 2], tensor.strides[rank - 1]};
}

int64_t BatchOf(const IntList& shape) {
  int64_t count = 1;
  for (int dim = 0; dim < shape.size() - 2; ++dim) count *= shape[dim];
  return count;
}

void CheckSquare(const ArgName& name, const TensorView& tensor) {
  CheckRank(name, tensor, 2, kMaxRank, "(…, n, n)");
  const int rank = tensor.rank();
  REPDL_CHECK(tensor.shape[rank - 1] == tensor.shape[rank - 2], name, " must hold square matrices (…, n, n), got ",
              Name(tensor.shape));
}

void CheckRows(const ArgName& name, const TensorView& rows, const ArgName& other, const TensorView& matrices) {
  CheckRank(name, rows, 2, kMaxRank, "(…, m, n)");
  REPDL_CHECK(
      rows.rank() == matrices.rank() && std::equal(rows.shape.begin(), rows.shape.end() - 2, matrices.shape.begin()),
      name, " of shape ", Name(rows.shape), " must have the batch dimensions of ", other.arg, ", ",
      Name(matrices.shape), "; use expand()");
  const int64_t n = matrices.shape[matrices.rank() - 1];
  REPDL_CHECK(rows.shape[rows.rank() - 1] == n, name, " of shape ", Name(rows.shape), " must hold rows of ", n,
              " numbers, one for each row of ", other.arg, ", ", Name(matrices.shape));
}

IntList BatchAnd(const IntList& shape, std::initializer_list<int64_t> sizes) {
  IntList result;
  for (int dim = 0; dim < shape.size() - 2; ++dim) result.Append(shape[dim]);
  for (int64_t size : sizes) result.Append(size);
  return result;
}

}  // namespace repdl

// SPDX-License-Identifier: MIT
#include "drivers/matrices.h"

#include <optional>
#include <span>

#include "drivers/contiguous.h"

namespace repdl {

namespace {

/// From matrix to matrix, or nothing where no single step does it.
std::optional<int64_t> StepOf(const TensorView& tensor) {
  int64_t step = 0, inner = -1;
  for (int dim = tensor.rank() - 3; dim >= 0; --dim) {
    if (tensor.shape[dim] == 1) continue;
    if (inner < 0) {
      step = tensor.strides[dim];
    } else if (tensor.strides[dim] != step * inner) {
      return std::nullopt;
    }
    inner = (inner < 0 ? 1 : inner) * tensor.shape[dim];
  }
  return step;
}

TensorView WithoutParts(const TensorView& pairs) {
  TensorView parts = pairs;
  parts.shape = IntList(std::span(pairs.shape.begin(), pairs.shape.end() - 1));
  parts.strides = IntList(std::span(pairs.strides.begin(), pairs.strides.end() - 1));
  return parts;
}

}  // namespace

TensorView NumberForm::Numbers(std::string_view arg, const TensorView& tensor, const TensorView& like) const {
  const ArgName name = Arg(arg);
  CheckFloat(name, tensor, like);
  if (!pairs) return tensor;
  REPDL_CHECK(tensor.rank() > 0 && tensor.shape[tensor.rank() - 1] == 2, name, " of shape ", Name(tensor.shape),
              " must have a last dimension of size 2, for real and imaginary parts; use torch.view_as_real()");
  return WithoutParts(tensor);
}

TensorSpec NumberForm::Spec(DType dtype, IntList shape) const {
  if (pairs) shape.Append(2);
  return {dtype, shape};
}

Matrices MatricesOf(const TensorView& tensor, OpScratch& scratch, bool pairs) {
  // The strides of a tensor without elements may be any, also after a copy.
  if (tensor.numel() == 0) return {tensor.data, tensor.dtype, 0, 0, 0};
  const TensorView numbers = pairs ? WithoutParts(tensor) : tensor;
  const std::optional<int64_t> step = StepOf(numbers);
  if (!step) return MatricesOf(Contiguous(tensor, scratch), scratch, pairs);
  const int rank = numbers.rank();
  return {tensor.data,
          tensor.dtype,
          *step,
          numbers.strides[rank - 2],
          numbers.strides[rank - 1],
          pairs ? tensor.strides[rank] : 0};
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

Specs InferSolveByPivots(const NumberForm& form, const TensorView& factors, const TensorView& pivots,
                         const TensorView& rows) {
  const TensorView a = form.Numbers("factors", factors, factors), b = form.Numbers("rows", rows, factors);
  const ArgName name = form.Arg("factors"), name_pivots = form.Arg("pivots");
  CheckSquare(name, a);
  CheckRows(form.Arg("rows"), b, name, a);
  CheckDType(name_pivots, pivots, DType::kInt64);
  CheckSameDevice(name_pivots, pivots, factors);
  CheckShape(name_pivots, pivots, BatchAnd(a.shape, {a.shape[a.rank() - 1]}));
  return {{rows.dtype, rows.shape}};
}

IntList BatchAnd(const IntList& shape, std::initializer_list<int64_t> sizes) {
  IntList result;
  for (int dim = 0; dim < shape.size() - 2; ++dim) result.Append(shape[dim]);
  for (int64_t size : sizes) result.Append(size);
  return result;
}

}  // namespace repdl

// SPDX-License-Identifier: MIT
#include "repdl/ops/sparse_mm.h"

#include "base/check.h"
#include "base/dispatch.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "base/op_scratch.h"
#include "drivers/contiguous.h"
#include "drivers/indices.h"
#include "ops/index_add/index_add_kernel.h"

namespace repdl {

Specs InferSparseMm(const TensorView& values, const TensorView& row_indices, const TensorView& col_indices,
                    const TensorView& mat2, int64_t num_rows) {
  CheckFloat({"sparse_mm", "values"}, values, values);
  CheckRank({"sparse_mm", "values"}, values, 1, 1, "(n)");
  for (const auto& [name, indices] : {std::pair(ArgName{"sparse_mm", "row_indices"}, &row_indices),
                                      std::pair(ArgName{"sparse_mm", "col_indices"}, &col_indices)}) {
    CheckDType(name, *indices, DType::kInt64);
    CheckSameDevice(name, *indices, values);
    CheckShape(name, *indices, values.shape);
  }
  CheckFloat({"sparse_mm", "mat2"}, mat2, values);
  CheckRank({"sparse_mm", "mat2"}, mat2, 2, 2, "(k, columns)");
  CheckRows({"sparse_mm", "num_rows"}, num_rows);
  return {{values.dtype, {num_rows, mat2.shape[1]}}};
}

void SparseMm(const TensorView& values, const TensorView& row_indices, const TensorView& col_indices,
              const TensorView& mat2, int64_t num_rows, Out output) {
  const FpEnvGuard guard;
  CheckOutputs("sparse_mm", InferSparseMm(values, row_indices, col_indices, mat2, num_rows), {&output}, values);
  const Place place = PlaceOf("sparse_mm", values);
  OpScratch scratch(place);
  const int64_t* const to = CheckedIndices({"sparse_mm", "row_indices"}, row_indices, num_rows, scratch);
  const int64_t* const from = CheckedIndices({"sparse_mm", "col_indices"}, col_indices, mat2.shape[0], scratch);
  FillWithZero(place, output);
  if (output.numel() == 0 || values.numel() == 0) return;
  const TensorView factors = Contiguous(values, scratch), source = Contiguous(mat2, scratch);
  DispatchReal(values.dtype, [&]<class T>() {
    IndexSumKernel(place, IndexSumArgs<T>{1, values.numel(), mat2.shape[1], to, from, factors.Data<const T>(), 1,
                                          nullptr, source.Data<const T>(), mat2.shape[0], output.Data<T>(), num_rows});
  });
}

}  // namespace repdl

REPDL_OPS(sparse_mm, MakeOp<InferSparseMm, SparseMm, IndexSumKernel>("sparse_mm",
                                                                     "values, row_indices, col_indices, mat2, num_rows",
                                                                     kFloat32Or64))

// SPDX-License-Identifier: MIT
#include "repdl/ops/sparse_mm.h"

#include <utility>

#include "base/check.h"
#include "base/dispatch.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "base/op_scratch.h"
#include "drivers/contiguous.h"
#include "drivers/indices.h"
#include "ops/index_add/index_add_kernel.h"
#include "ops/sparse_mm/sparse_mm_kernel.h"

namespace repdl {
namespace {

/// Two lists of the rows and columns of elements.
void CheckPlaces(std::string_view op, const TensorView& row_indices, const TensorView& col_indices,
                 const TensorView& beside) {
  for (const auto& [name, indices] :
       {std::pair(ArgName{op, "row_indices"}, &row_indices), std::pair(ArgName{op, "col_indices"}, &col_indices)}) {
    CheckDType(name, *indices, DType::kInt64);
    CheckSameDevice(name, *indices, beside);
  }
}

}  // namespace

Specs InferSparseMm(const TensorView& values, const TensorView& row_indices, const TensorView& col_indices,
                    const TensorView& mat2, int64_t num_rows) {
  CheckFloat({"sparse_mm", "values"}, values, values);
  CheckRank({"sparse_mm", "values"}, values, 1, 1, "(n)");
  CheckPlaces("sparse_mm", row_indices, col_indices, values);
  CheckShape({"sparse_mm", "row_indices"}, row_indices, values.shape);
  CheckShape({"sparse_mm", "col_indices"}, col_indices, values.shape);
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
    IndexSumKernel(place, IndexSumArgs<T>{{1, values.numel(), mat2.shape[1], to, kNoneLeftOut, from,
                                           source.Data<const T>(), mat2.shape[0], output.Data<T>(), num_rows},
                                          factors.Data<const T>(),
                                          1,
                                          nullptr});
  });
}

Specs InferSampledMm(const TensorView& input, const TensorView& mat2, const TensorView& row_indices,
                     const TensorView& col_indices, Order /*order*/) {
  const std::string_view op = "sampled_mm";
  CheckFloat({op, "input"}, input, input);
  CheckRank({op, "input"}, input, 2, 2, "(m, k)");
  CheckFloat({op, "mat2"}, mat2, input);
  CheckRank({op, "mat2"}, mat2, 2, 2, "(k, n)");
  REPDL_CHECK(mat2.shape[0] == input.shape[1], ArgName{op, "mat2"}, " has ", mat2.shape[0],
              " rows, which must be as many as the columns of input, ", input.shape[1]);
  CheckRank({op, "row_indices"}, row_indices, 1, 1, "(count)");
  CheckPlaces(op, row_indices, col_indices, input);
  CheckShape({op, "col_indices"}, col_indices, row_indices.shape);
  return {{input.dtype, row_indices.shape}};
}

void SampledMm(const TensorView& input, const TensorView& mat2, const TensorView& row_indices,
               const TensorView& col_indices, Order order, Out output) {
  const FpEnvGuard guard;
  const std::string_view op = "sampled_mm";
  CheckOutputs(op, InferSampledMm(input, mat2, row_indices, col_indices, order), {&output}, input);
  const Place place = PlaceOf(op, input);
  OpScratch scratch(place);
  const int64_t* const rows = CheckedIndices({op, "row_indices"}, row_indices, input.shape[0], scratch);
  const int64_t* const columns = CheckedIndices({op, "col_indices"}, col_indices, mat2.shape[1], scratch);
  if (output.numel() == 0) return;
  TensorView transposed = mat2;
  std::swap(transposed.shape[0], transposed.shape[1]);
  std::swap(transposed.strides[0], transposed.strides[1]);
  const TensorView a = Contiguous(input, scratch), b = Contiguous(transposed, scratch);
  DispatchReal(input.dtype, [&]<class T>() {
    SampledMmKernel(place, SampledMmArgs<T>{output.numel(), input.shape[1], a.Data<const T>(), b.Data<const T>(),
                                            a.shape[0], b.shape[0], rows, columns, order, output.Data<T>()});
  });
}

}  // namespace repdl

REPDL_OPS(sparse_mm,
          MakeOp<InferSparseMm, SparseMm, IndexSumKernel>("sparse_mm",
                                                          "values, row_indices, col_indices, mat2, num_rows",
                                                          kFloat32Or64),
          MakeOp<InferSampledMm, SampledMm, SampledMmKernel>("sampled_mm",
                                                             "input, mat2, row_indices, col_indices, order='blocked'",
                                                             kFloat32Or64))

// SPDX-License-Identifier: MIT
#include "repdl/ops/index_add.h"

#include "base/check.h"
#include "base/dispatch.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "base/op_scratch.h"
#include "drivers/contiguous.h"
#include "drivers/indices.h"
#include "ops/index_add/index_add_kernel.h"

namespace repdl {
namespace {

/// The sizes before, along and behind a dimension.
struct Along {
  Along(const IntList& shape, int dim) {
    for (int i = 0; i < shape.size(); ++i) (i < dim ? outer : i == dim ? length : inner) *= shape[i];
  }
  int64_t outer = 1, length = 1, inner = 1;
};

Specs Infer(std::string_view op, const TensorView& input, int64_t dim, int64_t length, const TensorView& index,
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

void BeginWith(const Place& place, const TensorView& input, const TensorView& output) {
  if (input.data != output.data) CopyElements(place, input, output);
}

template <class T>
void Add(const Place& place, const TensorView& source, const Along& along, const int64_t* index, double alpha,
         const TensorView& output) {
  OpScratch scratch(place);
  const T factor = static_cast<T>(alpha);
  IndexSumKernel(place, IndexSumArgs<T>{along.outer, along.length, along.inner, index, kNoneLeftOut, nullptr,
                                        factor == T{1} ? nullptr : OnPlace(&factor, 1, scratch), 0, nullptr,
                                        source.Data<const T>(), along.length, output.Data<T>(),
                                        output.numel() / (along.outer * along.inner)});
}

}  // namespace

Specs InferIndexAdd(const TensorView& input, int64_t dim, const TensorView& index, const TensorView& source,
                    double /*alpha*/) {
  CheckRank({"index_add", "index"}, index, 0, 1, "(n) or ()");
  return Infer("index_add", input, dim, index.numel(), index, {"index_add", "source"}, source);
}

void IndexAdd(const TensorView& input, int64_t dim, const TensorView& index, const TensorView& source, double alpha,
              Out output) {
  const FpEnvGuard guard;
  CheckOutputs("index_add", InferIndexAdd(input, dim, index, source, alpha), {&output}, input);
  const Place place = PlaceOf("index_add", input);
  const int at = CheckDim({"index_add", "dim"}, dim, input.rank());
  OpScratch scratch(place);
  const int64_t* const places = CheckedIndices({"index_add", "index"}, index, input.shape[at], scratch);
  BeginWith(place, input, output);
  if (source.numel() == 0) return;
  const TensorView packed = Contiguous(source, scratch);
  DispatchReal(input.dtype, [&]<class T>() { Add<T>(place, packed, Along(source.shape, at), places, alpha, output); });
}

Specs InferScatterAdd(const TensorView& input, int64_t dim, const TensorView& index, const TensorView& src) {
  const int64_t length = index.rank() == 0 ? 1 : index.shape[CheckDim({"scatter_add", "dim"}, dim, index.rank())];
  CheckShape({"scatter_add", "index"}, index, src.shape);
  return Infer("scatter_add", input, dim, length, index, {"scatter_add", "src"}, src);
}

void ScatterAdd(const TensorView& input, int64_t dim, const TensorView& index, const TensorView& src, Out output) {
  const FpEnvGuard guard;
  CheckOutputs("scatter_add", InferScatterAdd(input, dim, index, src), {&output}, input);
  const Place place = PlaceOf("scatter_add", input);
  const int at = CheckDim({"scatter_add", "dim"}, dim, input.rank());
  OpScratch scratch(place);
  // An index that was expanded from a row is the same for all columns.
  TensorView row = index;
  row.shape = {index.shape[at]}, row.strides = {index.strides[at]};
  bool expanded = src.numel() > 0;
  for (int i = 0; i < index.rank(); ++i)
    expanded = expanded && (i == at || index.strides[i] == 0 || index.shape[i] == 1);
  const int64_t* const places =
      CheckedIndices({"scatter_add", "index"}, expanded ? row : index, input.shape[at], scratch);
  BeginWith(place, input, output);
  if (src.numel() == 0) return;
  const TensorView packed = Contiguous(src, scratch);
  const Along along(src.shape, at);
  DispatchReal(input.dtype, [&]<class T>() {
    if (expanded) return Add<T>(place, packed, along, places, 1.0, output);
    ScatterAddKernel(place, ScatterAddArgs<T>{along.outer, along.length, along.inner, places, packed.Data<const T>(),
                                              output.Data<T>(), input.shape[at], nullptr});
  });
}

}  // namespace repdl

REPDL_OPS(index_add,
          MakeOp<InferIndexAdd, IndexAdd, IndexSumKernel>("index_add", "input, dim, index, source, alpha=1.0",
                                                          kFloat32Or64),
          MakeOp<InferScatterAdd, ScatterAdd, IndexSumKernel, ScatterAddKernel>("scatter_add", "input, dim, index, src",
                                                                                kFloat32Or64))

// SPDX-License-Identifier: MIT
#include "repdl/ops/cdist.h"

#include "base/check.h"
#include "base/dispatch.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "base/op_scratch.h"
#include "drivers/contiguous.h"
#include "drivers/matrices.h"
#include "ops/cdist/cdist_kernel.h"

namespace repdl {
namespace {

void CheckPower(std::string_view op, double p) { REPDL_CHECK(p >= 0, ArgName{op, "p"}, " must be 0 or more, got ", p); }

/// The shape of the distances.
IntList Check(std::string_view op, const TensorView& x1, const TensorView& x2, double p) {
  const ArgName name{op, "x1"}, other{op, "x2"};
  CheckFloat(name, x1, x1);
  CheckFloat(other, x2, x1);
  CheckRank(name, x1, 2, kMaxRank, "(…, m, k)");
  CheckRank(other, x2, 2, kMaxRank, "(…, n, k)");
  const int rank = x1.rank();
  REPDL_CHECK(BatchAnd(x1.shape, {}) == BatchAnd(x2.shape, {}), other, " of shape ", Name(x2.shape),
              " must have the batch of x1 of shape ", Name(x1.shape), ": expand one to the other's");
  REPDL_CHECK(x1.shape[rank - 1] == x2.shape[rank - 1], other, " has rows of ", x2.shape[rank - 1],
              " numbers, which must be as long as those of x1, ", x1.shape[rank - 1]);
  CheckPower(op, p);
  return BatchAnd(x1.shape, {x1.shape[rank - 2], x2.shape[rank - 2]});
}

int64_t NumPairs(int64_t rows) { return rows * (rows - 1) / 2; }

IntList CheckPairs(std::string_view op, const TensorView& input, double p) {
  const ArgName name{op, "input"};
  CheckFloat(name, input, input);
  CheckRank(name, input, 2, 2, "(n, k)");
  REPDL_CHECK(input.shape[0] <= INT32_MAX, name, " of shape ", Name(input.shape), " must have less than 2^31 rows");
  CheckPower(op, p);
  return {NumPairs(input.shape[0])};
}

/// Row-major matrices, which may be the same for the whole batch.
template <class T>
const T* RowMajor(const TensorView& tensor, OpScratch& scratch, int64_t& step) {
  Matrices matrices = MatricesOf(tensor, scratch);
  const int rank = tensor.rank();
  const int64_t rows = tensor.shape[rank - 2], cols = tensor.shape[rank - 1];
  if ((cols > 1 && matrices.col_stride != 1) || (rows > 1 && matrices.row_stride != cols)) {
    matrices = MatricesOf(Contiguous(tensor, scratch), scratch);
  }
  step = matrices.step;
  return static_cast<const T*>(matrices.data);
}

template <class T>
CdistArgs<T> Args(const TensorView& x1, const TensorView& x2, double p, Order order, OpScratch& scratch) {
  const int rank = x1.rank();
  CdistArgs<T> args{};
  args.batch = BatchOf(x1.shape);
  args.m = x1.shape[rank - 2], args.n = x2.shape[rank - 2], args.k = x1.shape[rank - 1];
  args.x1 = RowMajor<T>(x1, scratch, args.x1_step);
  args.x2 = RowMajor<T>(x2, scratch, args.x2_step);
  args.p = p, args.order = order;
  args.row_stride = args.n, args.col_stride = 1;
  return args;
}

}  // namespace

Specs InferCdist(const TensorView& x1, const TensorView& x2, double p, Order /*order*/) {
  return {{x1.dtype, Check("cdist", x1, x2, p)}};
}

void Cdist(const TensorView& x1, const TensorView& x2, double p, Order order, Out output) {
  const FpEnvGuard guard;
  CheckOutputs("cdist", InferCdist(x1, x2, p, order), {&output}, x1);
  const Place place = PlaceOf("cdist", x1);
  if (output.numel() == 0) return;
  DispatchReal(x1.dtype, [&]<class T>() {
    OpScratch scratch(place);
    auto args = Args<T>(x1, x2, p, order, scratch);
    args.output = output.Data<T>();
    // The kernel's vectors run over the rows of x2. Differences of either sign give one distance.
    if (args.n < 16 && args.m > args.n) {
      std::swap(args.x1, args.x2);
      std::swap(args.x1_step, args.x2_step);
      std::swap(args.m, args.n);
      std::swap(args.row_stride, args.col_stride);
    }
    CdistKernel(place, args);
  });
}

Specs InferCdistGrad(const TensorView& grad_output, const TensorView& x1, const TensorView& x2,
                     const TensorView& distance, double p, Order /*order*/) {
  const std::string_view op = "cdist_grad";
  const IntList shape = Check(op, x1, x2, p);
  CheckFloat({op, "grad_output"}, grad_output, x1);
  CheckShape({op, "grad_output"}, grad_output, shape);
  CheckFloat({op, "distance"}, distance, x1);
  CheckShape({op, "distance"}, distance, shape);
  return {{x1.dtype, x1.shape}};
}

void CdistGrad(const TensorView& grad_output, const TensorView& x1, const TensorView& x2, const TensorView& distance,
               double p, Order order, Out grad_x1) {
  const FpEnvGuard guard;
  const std::string_view op = "cdist_grad";
  CheckOutputs(op, InferCdistGrad(grad_output, x1, x2, distance, p, order), {&grad_x1}, x1);
  const Place place = PlaceOf(op, x1);
  if (grad_x1.numel() == 0) return;
  DispatchReal(x1.dtype, [&]<class T>() {
    OpScratch scratch(place);
    auto args = Args<T>(x1, x2, p, order, scratch);
    args.grad_output = Contiguous(grad_output, scratch).Data<const T>();
    args.distance = Contiguous(distance, scratch).Data<const T>();
    args.grad = grad_x1.Data<T>();
    CdistGradKernel(place, args);
  });
}

Specs InferPdist(const TensorView& input, double p, Order /*order*/) {
  return {{input.dtype, CheckPairs("pdist", input, p)}};
}

void Pdist(const TensorView& input, double p, Order order, Out output) {
  const FpEnvGuard guard;
  CheckOutputs("pdist", InferPdist(input, p, order), {&output}, input);
  const Place place = PlaceOf("pdist", input);
  if (output.numel() == 0) return;
  DispatchReal(input.dtype, [&]<class T>() {
    OpScratch scratch(place);
    auto args = Args<T>(input, input, p, order, scratch);
    args.pairs = true;
    args.output = output.Data<T>();
    CdistKernel(place, args);
  });
}

Specs InferPdistGrad(const TensorView& grad_output, const TensorView& input, const TensorView& distance, double p) {
  const std::string_view op = "pdist_grad";
  const IntList shape = CheckPairs(op, input, p);
  CheckFloat({op, "grad_output"}, grad_output, input);
  CheckShape({op, "grad_output"}, grad_output, shape);
  CheckFloat({op, "distance"}, distance, input);
  CheckShape({op, "distance"}, distance, shape);
  return {{input.dtype, input.shape}};
}

void PdistGrad(const TensorView& grad_output, const TensorView& input, const TensorView& distance, double p,
               Out grad_input) {
  const FpEnvGuard guard;
  const std::string_view op = "pdist_grad";
  CheckOutputs(op, InferPdistGrad(grad_output, input, distance, p), {&grad_input}, input);
  const Place place = PlaceOf(op, input);
  if (grad_input.numel() == 0) return;
  DispatchReal(input.dtype, [&]<class T>() {
    OpScratch scratch(place);
    auto args = Args<T>(input, input, p, Order::kSequential, scratch);
    args.pairs = true;
    args.grad_output = Contiguous(grad_output, scratch).Data<const T>();
    args.distance = Contiguous(distance, scratch).Data<const T>();
    args.grad = grad_input.Data<T>();
    CdistGradKernel(place, args);
  });
}

}  // namespace repdl

REPDL_OPS(cdist, MakeOp<InferCdist, Cdist, CdistKernel>("cdist", "x1, x2, p=2.0, order='blocked'", kFloat32Or64),
          MakeOp<InferCdistGrad, CdistGrad, CdistGradKernel>("cdist_grad",
                                                             "grad_output, x1, x2, distance, p=2.0, order='blocked'",
                                                             kFloat32Or64),
          MakeOp<InferPdist, Pdist, CdistKernel>("pdist", "input, p=2.0, order='blocked'", kFloat32Or64),
          MakeOp<InferPdistGrad, PdistGrad, CdistGradKernel>("pdist_grad", "grad_output, input, distance, p=2.0",
                                                             kFloat32Or64))

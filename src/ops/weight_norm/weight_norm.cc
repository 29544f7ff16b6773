// SPDX-License-Identifier: MIT
#include "repdl/ops/weight_norm.h"

#include "base/check.h"
#include "base/dispatch.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "base/op_scratch.h"
#include "drivers/contiguous.h"
#include "ops/weight_norm/weight_norm_kernel.h"

namespace repdl {
namespace {

/// The shape of g and of the norms.
IntList CheckOperands(std::string_view op, const TensorView& v, const TensorView& g, int64_t dim) {
  CheckFloat({op, "v"}, v, v);
  CheckRank({op, "v"}, v, 1, kMaxRank, "(n, …) or (…, n)");
  const int at = CheckDim({op, "dim"}, dim, v.rank());
  REPDL_CHECK(at == 0 || at == v.rank() - 1, ArgName{op, "dim"},
              " must be the first or the last dimension of v, of shape ", Name(v.shape), "; got ", dim);
  IntList shape = v.shape;
  for (int i = 0; i < shape.size(); ++i) shape[i] = i == at ? shape[i] : 1;
  CheckFloat({op, "g"}, g, shape, v);
  return shape;
}

template <class T>
WeightNormArgs<T> MakeArgs(const TensorView& v, const TensorView& g, int64_t dim, Order order, OpScratch& scratch) {
  WeightNormArgs<T> args{};
  const int at = CheckDim({"weight_norm", "dim"}, dim, v.rank());
  args.rows = v.shape[at];
  args.n = 1;
  for (int i = 0; i < v.rank(); ++i) args.n *= i == at ? 1 : v.shape[i];
  // Rows of one number lie across memory as well, and a single row does not.
  args.across = args.rows > 1 && (at > 0 || args.n == 1);
  args.order = order;
  args.v = Contiguous(v, scratch).Data<const T>();
  args.g = Contiguous(g, scratch).Data<const T>();
  return args;
}

}  // namespace

Specs InferWeightNorm(const TensorView& v, const TensorView& g, int64_t dim, Order) {
  const IntList shape = CheckOperands("weight_norm", v, g, dim);
  return {{v.dtype, v.shape}, {v.dtype, shape}};
}

void WeightNorm(const TensorView& v, const TensorView& g, int64_t dim, Order order, Out output, Out norm) {
  const FpEnvGuard guard;
  CheckOutputs("weight_norm", InferWeightNorm(v, g, dim, order), {&output, &norm}, v);
  const Place place = PlaceOf("weight_norm", v);
  if (norm.numel() == 0) return;
  DispatchReal(v.dtype, [&]<class T>() {
    OpScratch scratch(place);
    WeightNormArgs<T> args = MakeArgs<T>(v, g, dim, order, scratch);
    args.output = output.Data<T>();
    args.of_rows = norm.Data<T>();
    WeightNormKernel(place, args);
  });
}

Specs InferWeightNormGrad(const TensorView& grad_output, const TensorView& v, const TensorView& g,
                          const TensorView& norm, int64_t dim, Order) {
  const IntList shape = CheckOperands("weight_norm_grad", v, g, dim);
  CheckFloat({"weight_norm_grad", "grad_output"}, grad_output, v.shape, v);
  CheckFloat({"weight_norm_grad", "norm"}, norm, shape, v);
  return {{v.dtype, v.shape}, {v.dtype, shape}};
}

void WeightNormGrad(const TensorView& grad_output, const TensorView& v, const TensorView& g, const TensorView& norm,
                    int64_t dim, Order order, Out grad_v, Out grad_g) {
  const FpEnvGuard guard;
  CheckOutputs("weight_norm_grad", InferWeightNormGrad(grad_output, v, g, norm, dim, order), {&grad_v, &grad_g}, v);
  const Place place = PlaceOf("weight_norm_grad", v);
  if (grad_g.numel() == 0) return;
  DispatchReal(v.dtype, [&]<class T>() {
    OpScratch scratch(place);
    WeightNormArgs<T> args = MakeArgs<T>(v, g, dim, order, scratch);
    args.grad_output = Contiguous(grad_output, scratch).Data<const T>();
    args.norm = Contiguous(norm, scratch).Data<const T>();
    args.output = grad_v.Data<T>();
    args.of_rows = grad_g.Data<T>();
    WeightNormGradKernel(place, args);
  });
}

}  // namespace repdl

REPDL_OPS(weight_norm,
          MakeOp<InferWeightNorm, WeightNorm, WeightNormKernel>("weight_norm", "v, g, dim=0, order='blocked'",
                                                                kFloat32Or64),
          MakeOp<InferWeightNormGrad, WeightNormGrad, WeightNormGradKernel>(
              "weight_norm_grad", "grad_output, v, g, norm, dim=0, order='blocked'", kFloat32Or64))

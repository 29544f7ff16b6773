// SPDX-License-Identifier: MIT
#include "repdl/ops/adam.h"

#include <cmath>

#include "base/check.h"
#include "base/dispatch.h"
#include "base/flat.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "numerics/power.h"
#include "ops/adam/adam_kernel.h"

namespace repdl {
namespace {

void CheckState(const ArgName& name, const TensorView& tensor, const TensorView& param) {
  CheckFloat(name, tensor, param);
  CheckShape(name, tensor, param.shape);
  REPDL_CHECK(AreFlatAlike({&param, &tensor}), name,
              " must have the strides of param, without gaps; make both contiguous");
}

void Check(std::string_view op, const InOut& param, const TensorView& grad, const InOut& exp_avg,
           const InOut& exp_avg_sq, const std::optional<InOut>& max_exp_avg_sq, int64_t step, double lr, double beta1,
           double beta2, double eps, double weight_decay) {
  CheckFloat({op, "param"}, param, param);
  CheckState({op, "grad"}, grad, param);
  CheckState({op, "exp_avg"}, exp_avg, param);
  CheckState({op, "exp_avg_sq"}, exp_avg_sq, param);
  if (max_exp_avg_sq) CheckState({op, "max_exp_avg_sq"}, *max_exp_avg_sq, param);
  REPDL_CHECK(step >= 1, ArgName{op, "step"}, " must be at least 1, got ", step);
  REPDL_CHECK(lr >= 0.0, ArgName{op, "lr"}, " must not be negative, got ", lr);
  REPDL_CHECK(beta1 >= 0.0 && beta1 < 1.0, ArgName{op, "beta1"}, " must be in [0, 1), got ", beta1);
  REPDL_CHECK(beta2 >= 0.0 && beta2 < 1.0, ArgName{op, "beta2"}, " must be in [0, 1), got ", beta2);
  REPDL_CHECK(eps >= 0.0, ArgName{op, "eps"}, " must not be negative, got ", eps);
  REPDL_CHECK(weight_decay >= 0.0, ArgName{op, "weight_decay"}, " must not be negative, got ", weight_decay);
}

void Run(std::string_view op, const InOut& param, const TensorView& grad, const InOut& exp_avg, const InOut& exp_avg_sq,
         const std::optional<InOut>& max_exp_avg_sq, int64_t step, double lr, double beta1, double beta2, double eps,
         double weight_decay, bool maximize, bool decoupled) {
  const FpEnvGuard guard;
  Check(op, param, grad, exp_avg, exp_avg_sq, max_exp_avg_sq, step, lr, beta1, beta2, eps, weight_decay);
  const Place place = PlaceOf(op, param);
  DispatchReal(param.dtype, [&]<class T>() {
    const auto round = [](double x) { return static_cast<T>(x); };
    const AdamConstants<T> constants{
        .shrink = decoupled ? round(1.0 - lr * weight_decay) : T{1},
        .weight_decay = decoupled ? T{0} : round(weight_decay),
        .beta1 = round(beta1),
        .one_minus_beta1 = round(1.0 - beta1),
        .beta2 = round(beta2),
        .one_minus_beta2 = round(1.0 - beta2),
        .sqrt_correction2 = round(std::sqrt(1.0 - PowInt(beta2, step))),
        .eps = round(eps),
        .minus_step_size = round(-(lr / (1.0 - PowInt(beta1, step)))),
        .maximize = maximize,
    };
    AdamKernel(place, AdamArgs<T>{.n = param.numel(),
                                  .param = param.Data<T>(),
                                  .grad = grad.Data<const T>(),
                                  .exp_avg = exp_avg.Data<T>(),
                                  .exp_avg_sq = exp_avg_sq.Data<T>(),
                                  .max_exp_avg_sq = max_exp_avg_sq ? max_exp_avg_sq->Data<T>() : nullptr,
                                  .constants = constants});
  });
}

}  // namespace

Specs InferAdamStep(const InOut& param, const TensorView& grad, const InOut& exp_avg, const InOut& exp_avg_sq,
                    const std::optional<InOut>& max_exp_avg_sq, int64_t step, double lr, double beta1, double beta2,
                    double eps, double weight_decay, bool) {
  Check("adam_step", param, grad, exp_avg, exp_avg_sq, max_exp_avg_sq, step, lr, beta1, beta2, eps, weight_decay);
  return {};
}

void AdamStep(InOut param, const TensorView& grad, InOut exp_avg, InOut exp_avg_sq,
              const std::optional<InOut>& max_exp_avg_sq, int64_t step, double lr, double beta1, double beta2,
              double eps, double weight_decay, bool maximize) {
  Run("adam_step", param, grad, exp_avg, exp_avg_sq, max_exp_avg_sq, step, lr, beta1, beta2, eps, weight_decay,
      maximize, /*decoupled=*/false);
}

Specs InferAdamWStep(const InOut& param, const TensorView& grad, const InOut& exp_avg, const InOut& exp_avg_sq,
                     const std::optional<InOut>& max_exp_avg_sq, int64_t step, double lr, double beta1, double beta2,
                     double eps, double weight_decay, bool) {
  Check("adamw_step", param, grad, exp_avg, exp_avg_sq, max_exp_avg_sq, step, lr, beta1, beta2, eps, weight_decay);
  return {};
}

void AdamWStep(InOut param, const TensorView& grad, InOut exp_avg, InOut exp_avg_sq,
               const std::optional<InOut>& max_exp_avg_sq, int64_t step, double lr, double beta1, double beta2,
               double eps, double weight_decay, bool maximize) {
  Run("adamw_step", param, grad, exp_avg, exp_avg_sq, max_exp_avg_sq, step, lr, beta1, beta2, eps, weight_decay,
      maximize, /*decoupled=*/true);
}

}  // namespace repdl

REPDL_OPS(adam,
          MakeOp<InferAdamStep, AdamStep, AdamKernel>(
              "adam_step",
              "param, grad, exp_avg, exp_avg_sq, max_exp_avg_sq=None, step=1, lr=0.001, "
              "beta1=0.9, beta2=0.999, eps=1e-08, weight_decay=0.0, maximize=False",
              kFloat32Or64),
          MakeOp<InferAdamWStep, AdamWStep, AdamKernel>(
              "adamw_step",
              "param, grad, exp_avg, exp_avg_sq, max_exp_avg_sq=None, step=1, lr=0.001, "
              "beta1=0.9, beta2=0.999, eps=1e-08, weight_decay=0.01, maximize=False",
              kFloat32Or64))

// SPDX-License-Identifier: MIT
#include "repdl/ops/sgd.h"

#include "base/check.h"
#include "base/dispatch.h"
#include "base/flat.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "ops/sgd/sgd_kernel.h"

namespace repdl {

Specs InferSgdStep(const InOut& param, const TensorView& grad, const std::optional<InOut>& momentum_buffer, bool,
                   double lr, double momentum, double dampening, double weight_decay, bool nesterov, bool) {
  CheckFloat({"sgd_step", "param"}, param, param);
  CheckFloat({"sgd_step", "grad"}, grad, param);
  CheckShape({"sgd_step", "grad"}, grad, param.shape);
  if (momentum_buffer) {
    CheckFloat({"sgd_step", "momentum_buffer"}, *momentum_buffer, param);
    CheckShape({"sgd_step", "momentum_buffer"}, *momentum_buffer, param.shape);
  }
  REPDL_CHECK(AreFlatAlike({&param, &grad, momentum_buffer ? &*momentum_buffer : &param}), ArgName{"sgd_step", "param"},
              ", its gradient and its buffer must have the same strides, without gaps; make them contiguous");
  REPDL_CHECK(lr >= 0.0, ArgName{"sgd_step", "lr"}, " must not be negative, got ", lr);
  REPDL_CHECK(momentum >= 0.0, ArgName{"sgd_step", "momentum"}, " must not be negative, got ", momentum);
  REPDL_CHECK(weight_decay >= 0.0, ArgName{"sgd_step", "weight_decay"}, " must not be negative, got ", weight_decay);
  REPDL_CHECK(!nesterov || (momentum > 0.0 && dampening == 0.0), ArgName{"sgd_step", "nesterov"},
              " needs a momentum and zero dampening");
  return {};
}

void SgdStep(InOut param, const TensorView& grad, const std::optional<InOut>& momentum_buffer, bool first_step,
             double lr, double momentum, double dampening, double weight_decay, bool nesterov, bool maximize) {
  const FpEnvGuard guard;
  InferSgdStep(param, grad, momentum_buffer, first_step, lr, momentum, dampening, weight_decay, nesterov, maximize);
  const Place place = PlaceOf("sgd_step", param);
  DispatchReal(param.dtype, [&]<class T>() {
    SgdKernel(place, SgdArgs<T>{.n = param.numel(),
                                .param = param.Data<T>(),
                                .grad = grad.Data<const T>(),
                                .buffer = momentum_buffer ? momentum_buffer->Data<T>() : nullptr,
                                .constants = {.weight_decay = static_cast<T>(weight_decay),
                                              .momentum = static_cast<T>(momentum),
                                              .one_minus_dampening = static_cast<T>(1.0 - dampening),
                                              .minus_lr = static_cast<T>(-lr),
                                              .first_step = first_step,
                                              .nesterov = nesterov,
                                              .maximize = maximize}});
  });
}

}  // namespace repdl

REPDL_OPS(sgd,
          MakeOp<InferSgdStep, SgdStep, SgdKernel>("sgd_step",
                                                   "param, grad, momentum_buffer=None, first_step=False, lr=0.001, "
                                                   "momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False, "
                                                   "maximize=False",
                                                   kFloat32Or64))

// SPDX-License-Identifier: MIT
#include "repdl/ops/fused_optimizer.h"

#include "base/check.h"
#include "base/dispatch.h"
#include "base/flat.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "base/op_scratch.h"
#include "drivers/contiguous.h"
#include "numerics/lanes/scalar.h"
#include "numerics/power.h"
#include "ops/fused_optimizer/fused_optimizer_kernel.h"
#include "repdl/held_launches.h"

namespace repdl {
namespace {

struct Named {
  std::string_view name;
  const TensorView* tensor;  // or null
};

/// The parameter, its gradient and its state.
using NamedTensors = std::initializer_list<Named>;

const TensorView* OrNull(const std::optional<InOut>& tensor) { return tensor ? &*tensor : nullptr; }

Specs Check(std::string_view op, NamedTensors tensors) {
  const TensorView& param = *tensors.begin()->tensor;
  for (const Named& named : tensors) {
    if (named.tensor == nullptr) continue;
    CheckFloat({op, named.name}, *named.tensor, param);
    CheckShape({op, named.name}, *named.tensor, param.shape);
  }
  return {};
}

/// Calls step(place, tensors), on copies of those that do not lie side by side.
template <class Step>
void Run(std::string_view op, NamedTensors named, const Step& step) {
  const FpEnvGuard guard;
  Check(op, named);
  const TensorView& param = *named.begin()->tensor;
  const Place place = PlaceOf(op, param);
  if (param.numel() == 0) return;
  FusedTensors tensors{.dtype = param.dtype, .n = param.numel(), .count = 0, .data = {}};
  bool is_flat = true;
  for (const Named& one : named) is_flat = is_flat && (one.tensor == nullptr || AreFlatAlike({&param, one.tensor}));
  if (!is_flat) HeldLaunches::StartAll();  // before copies of what waiting steps may change
  OpScratch scratch(place);
  for (const Named& one : named) {
    if (one.tensor == nullptr) continue;
    tensors.data[tensors.count++] = is_flat ? one.tensor->data : Contiguous(*one.tensor, scratch).data;
  }
  DispatchReal(param.dtype, [&]<class T>() { step.template operator()<T>(place, tensors); });
  if (is_flat) return;
  HeldLaunches::StartAll();
  int at = 0;
  for (const Named& one : named) {
    if (one.tensor == nullptr) continue;
    void* const data = tensors.data[at++];
    if (data != one.tensor->data && at != 2) CopyElements(place, MakeView(data, param.dtype, param.shape), *one.tensor);
  }
}

template <class T>
FusedGradient<T> GradientOf(double weight_decay, bool maximize) {
  return {.weight_decay = static_cast<T>(weight_decay), .maximize = maximize};
}

}  // namespace

Specs InferFusedAdamStep(const InOut& param, const TensorView& grad, const InOut& exp_avg, const InOut& exp_avg_sq,
                         const std::optional<InOut>& max_exp_avg_sq, double, double, double, double, double, double,
                         bool, bool) {
  return Check("fused_adam_step", {{"param", &param},
                                   {"grad", &grad},
                                   {"exp_avg", &exp_avg},
                                   {"exp_avg_sq", &exp_avg_sq},
                                   {"max_exp_avg_sq", OrNull(max_exp_avg_sq)}});
}

void FusedAdamStep(InOut param, const TensorView& grad, InOut exp_avg, InOut exp_avg_sq,
                   const std::optional<InOut>& max_exp_avg_sq, double step, double lr, double beta1, double beta2,
                   double eps, double weight_decay, bool maximize, bool decoupled) {
  Run("fused_adam_step",
      {{"param", &param},
       {"grad", &grad},
       {"exp_avg", &exp_avg},
       {"exp_avg_sq", &exp_avg_sq},
       {"max_exp_avg_sq", OrNull(max_exp_avg_sq)}},
      [&]<class T>(const Place& place, const FusedTensors& tensors) {
        const auto round = [](double x) { return static_cast<T>(x); };
        const T weight = round(1.0 - beta1);
        const FusedAdamNumbers<T> numbers{.gradient = GradientOf<T>(decoupled ? 0.0 : weight_decay, maximize),
                                          .shrink = round(1.0 - lr * weight_decay),
                                          .shrinks = decoupled && weight_decay != 0.0,
                                          .weight = weight,
                                          .rest = T{1} - weight,
                                          .beta2 = round(beta2),
                                          .one_minus_beta2 = round(1.0 - beta2),
                                          .sqrt_correction2 = round(scalar::Sqrt(1.0 - PowReal(beta2, step))),
                                          .eps = round(eps),
                                          .minus_step_size = round(-(lr / (1.0 - PowReal(beta1, step))))};
        FusedAdamKernel(place, FusedAdamArgs<T>{tensors, numbers});
      });
}

Specs InferFusedAdagradStep(const InOut& param, const TensorView& grad, const InOut& state_sum, double, double, double,
                            double, double, bool) {
  return Check("fused_adagrad_step", {{"param", &param}, {"grad", &grad}, {"state_sum", &state_sum}});
}

void FusedAdagradStep(InOut param, const TensorView& grad, InOut state_sum, double step, double lr, double lr_decay,
                      double eps, double weight_decay, bool maximize) {
  Run("fused_adagrad_step", {{"param", &param}, {"grad", &grad}, {"state_sum", &state_sum}},
      [&]<class T>(const Place& place, const FusedTensors& tensors) {
        const FusedAdagradNumbers<T> numbers{.gradient = GradientOf<T>(weight_decay, maximize),
                                             .eps = static_cast<T>(eps),
                                             .minus_rate = static_cast<T>(-(lr / (1.0 + (step - 1.0) * lr_decay)))};
        FusedAdagradKernel(place, FusedAdagradArgs<T>{tensors, numbers});
      });
}

Specs InferFusedSgdStep(const InOut& param, const TensorView& grad, const std::optional<InOut>& momentum_buffer, bool,
                        double, double, double, double, bool, bool) {
  return Check("fused_sgd_step", {{"param", &param}, {"grad", &grad}, {"momentum_buffer", OrNull(momentum_buffer)}});
}

void FusedSgdStep(InOut param, const TensorView& grad, const std::optional<InOut>& momentum_buffer, bool first_step,
                  double lr, double momentum, double dampening, double weight_decay, bool nesterov, bool maximize) {
  Run("fused_sgd_step", {{"param", &param}, {"grad", &grad}, {"momentum_buffer", OrNull(momentum_buffer)}},
      [&]<class T>(const Place& place, const FusedTensors& tensors) {
        const FusedSgdNumbers<T> numbers{.gradient = GradientOf<T>(weight_decay, maximize),
                                         .momentum = static_cast<T>(momentum),
                                         .one_minus_dampening = static_cast<T>(1.0 - dampening),
                                         .minus_lr = static_cast<T>(-lr),
                                         .first_step = first_step,
                                         .nesterov = nesterov};
        FusedSgdKernel(place, FusedSgdArgs<T>{tensors, numbers});
      });
}

}  // namespace repdl

REPDL_OPS(fused_optimizer,
          MakeOp<InferFusedAdamStep, FusedAdamStep, FusedAdamKernel>(
              "fused_adam_step",
              "param, grad, exp_avg, exp_avg_sq, max_exp_avg_sq=None, step=1.0, lr=0.001, beta1=0.9, beta2=0.999, "
              "eps=1e-08, weight_decay=0.0, maximize=False, decoupled=False",
              kUpToFloat64),
          MakeOp<InferFusedAdagradStep, FusedAdagradStep, FusedAdagradKernel>(
              "fused_adagrad_step",
              "param, grad, state_sum, step=1.0, lr=0.01, lr_decay=0.0, "
              "eps=1e-10, weight_decay=0.0, maximize=False",
              kUpToFloat64),
          MakeOp<InferFusedSgdStep, FusedSgdStep, FusedSgdKernel>(
              "fused_sgd_step",
              "param, grad, momentum_buffer=None, first_step=False, lr=0.001, "
              "momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False, "
              "maximize=False",
              kUpToFloat64))

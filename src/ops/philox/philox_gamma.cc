// SPDX-License-Identifier: MIT
#include "repdl/ops/philox.h"

#include "base/check.h"
#include "base/fp_env.h"
#include "ops/philox/philox_gamma_kernel.h"

namespace repdl {

Specs InferPhiloxGamma(const TensorView& alpha, int64_t, int64_t, int64_t offset) {
  CheckFloating({"philox_gamma", "alpha"}, alpha);
  CheckDrawOffset("philox_gamma", offset, alpha.numel());
  return {{alpha.dtype, alpha.shape}};
}

void PhiloxGamma(const TensorView& alpha, int64_t seed, int64_t call, int64_t offset, Out output) {
  const FpEnvGuard guard;
  CheckOutputs("philox_gamma", InferPhiloxGamma(alpha, seed, call, offset), {&output}, alpha);
  const Place place = PlaceOf("philox_gamma", alpha);
  if (output.numel() == 0) return;
  PhiloxGammaKernel(place, {MakeMapArgs({&alpha}, output), PhiloxStream(seed, call, offset)});
}

}  // namespace repdl

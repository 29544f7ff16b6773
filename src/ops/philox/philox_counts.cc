// SPDX-License-Identifier: MIT
#include "repdl/ops/philox.h"

#include "base/broadcast.h"
#include "base/check.h"
#include "base/fp_env.h"
#include "ops/philox/philox_counts_kernel.h"

namespace repdl {

Specs InferPhiloxPoisson(const TensorView& rate, int64_t, int64_t, int64_t offset) {
  CheckFloating({"philox_poisson", "rate"}, rate);
  CheckDrawOffset("philox_poisson", offset, rate.numel());
  return {{rate.dtype, rate.shape}};
}

void PhiloxPoisson(const TensorView& rate, int64_t seed, int64_t call, int64_t offset, Out output) {
  const FpEnvGuard guard;
  CheckOutputs("philox_poisson", InferPhiloxPoisson(rate, seed, call, offset), {&output}, rate);
  const Place place = PlaceOf("philox_poisson", rate);
  if (output.numel() == 0) return;
  PhiloxPoissonKernel(place, {MakeMapArgs({&rate}, output), PhiloxStream(seed, call, offset)});
}

Specs InferPhiloxBinomial(const TensorView& count, const TensorView& prob, int64_t, int64_t, int64_t offset) {
  constexpr const char* kOp = "philox_binomial";
  const TensorSpec output = BroadcastSpec({{{kOp, "count"}, count}, {{kOp, "prob"}, prob}});
  int64_t numel = 1;
  for (int dim = 0; dim < output.shape.size(); ++dim) numel *= output.shape[dim];
  CheckDrawOffset(kOp, offset, numel);
  return {output};
}

void PhiloxBinomial(const TensorView& count, const TensorView& prob, int64_t seed, int64_t call, int64_t offset,
                    Out output) {
  const FpEnvGuard guard;
  CheckOutputs("philox_binomial", InferPhiloxBinomial(count, prob, seed, call, offset), {&output}, count);
  const Place place = PlaceOf("philox_binomial", count);
  if (output.numel() == 0) return;
  PhiloxBinomialKernel(place, {MakeMapArgs({&count, &prob}, output), PhiloxStream(seed, call, offset)});
}

}  // namespace repdl

// SPDX-License-Identifier: MIT
#include <limits>

#include "base/check.h"
#include "base/op_scratch.h"
#include "ops/philox/philox_randperm_kernel.h"
#include "repdl/ops/philox.h"

namespace repdl {

void PhiloxRandperm(InOut tensor, int64_t seed, int64_t call) {
  InferPhiloxRandperm(tensor, seed, call);
  const Place place = PlaceOf("philox_randperm", tensor);
  const int64_t n = tensor.numel();
  if (n == 0) return;
  OpScratch scratch(place);
  const TensorView numbers = scratch.New(DType::kInt64, {n});
  PhiloxRandint(numbers, seed, call, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(), 0);
  PhiloxRandpermKernel(place, {n, numbers.Data<const int64_t>(), tensor.Data<int64_t>(), tensor.strides[0]});
}

}  // namespace repdl

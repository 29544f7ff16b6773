// SPDX-License-Identifier: MIT
#include "drivers/philox_cpu-inl.h"
#include "numerics/functions_highway-inl.h"
#include "ops/philox/philox_distributions_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

#include "ops/philox/philox.lane.h"
#include "ops/philox/philox_distributions.lane.h"

void PhiloxUniformDoubleKernel(const PhiloxUniformDoubleArgs& args) {
  const PhiloxStore store = [](const void* f, const float* words, const MapArgs& map, int64_t offset, int64_t stride,
                               int64_t n) {
    const PhiloxUniformDoubleConstants constants = static_cast<const PhiloxUniformDoubleArgs*>(f)->constants;
    auto* to = static_cast<double*>(map.output) + offset;
    for (int64_t i = 0; i < n; ++i) {
      const uint64_t random =
          uint64_t{std::bit_cast<uint32_t>(words[2 * i + 1])} << 32 | std::bit_cast<uint32_t>(words[2 * i]);
      to[i * stride] = UniformDoubleOf(static_cast<double>(random >> 11) * 0x1p-53, constants);
    }
  };
  FillPhilox(args.philox, 2048, 2, &RunPhilox<EachWord<PhiloxWord>>, store, &args);
}

void PhiloxLogNormalKernel(const PhiloxLogNormalArgs& args) {
  FillFloats(args.philox, 1024, PhiloxLogNormalPairs{{args.constants}});
}

void PhiloxCauchyKernel(const PhiloxCauchyArgs& args) {
  FillFloats(args.philox, 1024, EachWord<PhiloxCauchyElement>{{args.constants}});
}

void PhiloxGeometricKernel(const PhiloxGeometricArgs& args) {
  const float rate = hn::GetLane(GeometricRateOf(FloatTag(), args.constants.p));
  FillFloats(args.philox, 1024, EachWord<PhiloxGeometricElement>{{rate, args.constants.highest}});
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

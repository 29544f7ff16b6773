// SPDX-License-Identifier: MIT
#include "drivers/philox_cpu-inl.h"
#include "numerics/functions_highway-inl.h"
#include "ops/philox/philox_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

#include "ops/philox/philox.lane.h"

void PhiloxBitsKernel(const PhiloxBitsArgs& args) {
  const PhiloxStore store = [](const void*, const float* words, const MapArgs& map, int64_t offset, int64_t stride,
                               int64_t n) {
    auto* to = static_cast<int64_t*>(map.output) + offset;
    for (int64_t i = 0; i < n; ++i) to[i * stride] = std::bit_cast<uint32_t>(words[i]);
  };
  FillPhilox(args.philox, 4096, 1, &RunPhilox<EachWord<PhiloxWord>>, store, &args);
}

void PhiloxRandintKernel(const PhiloxRandintArgs& args) {
  const PhiloxStore store = [](const void* f, const float* words, const MapArgs& map, int64_t offset, int64_t stride,
                               int64_t n) {
    const auto [first, count] = static_cast<const PhiloxRandintArgs*>(f)->constants;
    auto* to = static_cast<int64_t*>(map.output) + offset;
    for (int64_t i = 0; i < n; ++i) {
      to[i * stride] =
          IntegerOf(std::bit_cast<uint32_t>(words[2 * i]), std::bit_cast<uint32_t>(words[2 * i + 1]), first, count);
    }
  };
  FillPhilox(args.philox, 2048, 2, &RunPhilox<EachWord<PhiloxWord>>, store, &args);
}

void PhiloxUniformKernel(const PhiloxUniformArgs& args) {
  FillFloats(args.philox, 8192, EachWord<PhiloxUniformElement>{args.constants});
}

void PhiloxNormalKernel(const PhiloxNormalArgs& args) {
  FillFloats(args.philox, 1024, PhiloxNormalPairs{args.constants});
}

void PhiloxBernoulliKernel(const PhiloxBernoulliArgs& args) {
  FillFloats(args.philox, 8192, EachWord<PhiloxBernoulliElement>{args.constants});
}

void PhiloxExponentialKernel(const PhiloxExponentialArgs& args) {
  FillFloats(args.philox, 1024, EachWord<PhiloxExponentialElement>{args.constants});
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

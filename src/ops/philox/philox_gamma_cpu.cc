// SPDX-License-Identifier: MIT
#include "drivers/draw_cpu-inl.h"
#include "numerics/functions_highway-inl.h"
#include "ops/philox/philox_gamma_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

#include "ops/philox/philox_gamma.lane.h"

void PhiloxGammaKernel(const DrawArgs& args) {
  Draw<1, float>(args, 256, [&](uint64_t number, Vec alpha) HWY_ATTR {
    const auto words = [&](int t, WordVec& w0, WordVec& w1, WordVec& w2, WordVec& w3) HWY_ATTR {
      PhiloxGroup(args.stream.keys, args.stream.call, number + (static_cast<uint64_t>(t) << 58), w0, w1, w2, w3);
    };
    return GammaOf<WordVec>(alpha, words);
  });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

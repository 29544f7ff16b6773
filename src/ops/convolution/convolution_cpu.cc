// SPDX-License-Identifier: MIT
#include "ops/convolution/convolution_kernel.h"
#include "ops/convolution/operand_range_cpu-inl.h"
#include "ops/convolution/over_channels_cpu-inl.h"
#include "ops/convolution/over_patches_cpu-inl.h"
#include "ops/convolution/over_phases_cpu-inl.h"
#include "ops/convolution/over_planes_cpu-inl.h"
#include "ops/convolution/over_positions_cpu-inl.h"
#include "ops/convolution/over_taps_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

/// `m` is the number of results' channels in a group.
template <class T>
void OverAny(const ConvArgs<T>& args, int64_t m) {
  if (IsByChannel(args, args.plan)) {
    if (TriesChannels(args, m)) return;
    if (!args.source_last && !args.result_last && args.plan.num_taps() > 1) return OverPlanes(args, m);
  }
  IsPointwise(args) ? OverImages(args, m) : OverPositions(args, m);
}

template <class T>
void OverAnyPhases(const ConvEachPhaseArgs<T>& args) {
  if (!TriesChannels(args)) OverEachPhase(args);
}

}  // namespace

void ConvKernel(const ConvArgs<float>& args) { OverAny(args, args.sizes.o); }
void ConvKernel(const ConvArgs<double>& args) { OverAny(args, args.sizes.o); }
void ConvGradInputKernel(const ConvArgs<float>& args) { OverAny(args, args.sizes.c); }
void ConvGradInputKernel(const ConvArgs<double>& args) { OverAny(args, args.sizes.c); }
void ConvEachPhaseKernel(const ConvEachPhaseArgs<float>& args) { OverAnyPhases(args); }
void ConvEachPhaseKernel(const ConvEachPhaseArgs<double>& args) { OverAnyPhases(args); }
void ConvPhasesKernel(const ConvPhasesArgs<float>& args) { OverPhases(args); }
void ConvPhasesKernel(const ConvPhasesArgs<double>& args) { OverPhases(args); }
void ConvGradKernelKernel(const ConvArgs<float>& args) { OverTaps(args); }
void ConvGradKernelKernel(const ConvArgs<double>& args) { OverTaps(args); }
void ConvPatchesKernel(const ConvArgs<float>& args) { OverPatches(args); }
void ConvPatchesKernel(const ConvArgs<double>& args) { OverPatches(args); }
void ConvRangeKernel(const ConvRangeArgs<float>& args) { FindRange(args); }
void ConvRangeKernel(const ConvRangeArgs<double>& args) { FindRange(args); }

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

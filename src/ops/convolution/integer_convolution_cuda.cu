// SPDX-License-Identifier: MIT
#include <type_traits>

#include "base/cuda_launch.h"
#include "drivers/loops_cuda_thread.h"
#include "drivers/unsigned.h"
#include "ops/convolution/integer_convolution_kernel.h"

namespace repdl::scalar {

#include "drivers/add_product.lane.h"

}  // namespace repdl::scalar

namespace repdl::cuda {

/// Places along an axis, as the plan numbers them.
struct IntegerConvAxis {
  int64_t positions, taps;
  int64_t source;                          // places of the source
  int64_t first, position_step, tap_step;  // the place of tap 0 at position 0, and from one to the next
  int64_t result_step;
};

struct IntegerConvCall {
  IntegerConvArgs args;
  IntegerConvAxis axes[kMaxAxes];
};

/// A result by each thread.
template <class U>
__global__ void __launch_bounds__(kThreadsPerBlock)
    IntegerConvDeviceKernel(const __grid_constant__ IntegerConvCall call) {
  const IntegerConvArgs& args = call.args;
  const auto& [depth, height, width] = call.axes;
  const int64_t channels = args.plan.channels, taps = depth.taps * height.taps * width.taps;
  const int64_t source_plane = depth.source * height.source * width.source;
  const int64_t count = args.n * args.groups * args.rows * depth.positions * height.positions * width.positions;
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += num_threads) {
    int64_t plane = i;
    const int64_t x = scalar::TakeRemainder(plane, width.positions), y = scalar::TakeRemainder(plane, height.positions);
    const int64_t z = scalar::TakeRemainder(plane, depth.positions);
    int64_t image = plane;
    const int64_t row = scalar::TakeRemainder(image, args.rows), group = image % args.groups;
    const U* const weight = static_cast<const U*>(args.weight) + (group * args.rows + row) * channels * taps;
    const U* const source = static_cast<const U*>(args.source) + image * channels * source_plane;
    U sum = args.bias == nullptr ? U{0} : static_cast<const U*>(args.bias)[group * args.rows + row];
    for (int64_t t = 0; t < depth.taps; ++t) {
      const int64_t in_depth = depth.first + z * depth.position_step + t * depth.tap_step;
      if (in_depth < 0 || in_depth >= depth.source) continue;
      for (int64_t u = 0; u < height.taps; ++u) {
        const int64_t in_height = height.first + y * height.position_step + u * height.tap_step;
        if (in_height < 0 || in_height >= height.source) continue;
        for (int64_t v = 0; v < width.taps; ++v) {
          const int64_t in_width = width.first + x * width.position_step + v * width.tap_step;
          if (in_width < 0 || in_width >= width.source) continue;
          const U* const from = source + (in_depth * height.source + in_height) * width.source + in_width;
          const U* const factors = weight + (t * height.taps + u) * width.taps + v;
          for (int64_t c = 0; c < channels; ++c) {
            sum = scalar::AddProduct(sum, factors[c * taps], from[c * source_plane]);
          }
        }
      }
    }
    const int64_t to = z * depth.result_step + y * height.result_step + x * width.result_step;
    static_cast<U*>(args.result)[plane * args.plan.result_size + args.plan.first_result + to] = sum;
  }
}

REPDL_CUDA_KERNEL(IntegerConvKernel, IntegerConvArgs) {
  IntegerConvCall call{args, {}};
  const ConvPlan& plan = args.plan;
  for (int axis = 0; axis < kMaxAxes; ++axis) {
    call.axes[axis] = {plan.positions[axis],    plan.kernel[axis].count, plan.source[axis],     plan.FirstPlace(axis),
                       plan.PositionStep(axis), plan.TapStep(axis),      plan.result_step[axis]};
  }
  const int64_t count = args.n * args.groups * args.rows * plan.num_positions();
  if (count == 0) return;
  DispatchUnsigned(args.dtype, [&]<class U>() { Launch(place, count, &IntegerConvDeviceKernel<U>, call); });
}

}  // namespace repdl::cuda

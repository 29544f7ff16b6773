// SPDX-License-Identifier: MIT
#include "drivers/convert.h"
#include "drivers/map_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

bool IsFloat(DType dtype) { return dtype == DType::kFloat32; }

}  // namespace

void ConvertKernel(const MapArgs& args) {
  constexpr int64_t kGrain = 8192;
  const DType from = args.input_dtypes[0], to = args.output_dtype;
  const bool is_row = args.rank == 1 && args.strides[0][0] == 1 && IsFloat(from) != IsFloat(to);
  if (!is_row) return Map<1, float, 4>(args, kGrain, [](VecOf<float> x) HWY_ATTR { return x; });
  ParallelRanges(args.numel, kGrain, [&](int64_t begin, int64_t end) HWY_ATTR {
    if (IsFloat(to)) {
      WidenTo(from, static_cast<const uint16_t*>(args.inputs[0]) + begin, static_cast<float*>(args.output) + begin,
              end - begin);
    } else {
      NarrowTo(to, static_cast<const float*>(args.inputs[0]) + begin, static_cast<uint16_t*>(args.output) + begin,
               end - begin);
    }
  });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

// SPDX-License-Identifier: MIT
// The CPU kernels of the elementwise ops that the file REPDL_FAMILY lists. REPDL_FEW_STEPS is 1 where their functions have
// so few that memory counts.
#include "drivers/map_table_cpu-inl.h"
#include "numerics/functions_highway-inl.h"
#include "ops/elementwise/elementwise_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

// 3 µs of work at the memory's pace; of functions that take longer, more.
constexpr int64_t kGrain = 8192;

#ifndef REPDL_FEW_STEPS
#define REPDL_FEW_STEPS 0
#endif

template <int kInputs, class T, class F>
void MapOf(const MapArgs& args, const F& f) {
  if constexpr (!REPDL_FEW_STEPS) {
    Map<kInputs, T>(args, kGrain, f);
  } else if constexpr (kInputs == 2) {
    MapTwo<T>(args, kGrain, f);
  } else {
    Map<kInputs, T, 4>(args, kGrain, f);
  }
}

#define REPDL_DOUBLE_kUpToFloat32(kInputs, Function)
#define REPDL_DOUBLE_kUpToFloat64(kInputs, Function)                                                                   \
  if (args.output_dtype == DType::kFloat64) {                                                                          \
    return MapOf<kInputs, double>(args, [](auto... x) HWY_ATTR { return Function##Double()(TagOf<double>(), x...); }); \
  }
#define REPDL_UNARY(op, Function, Lanes, dtypes)                                  \
  void Function##Kernel(const MapArgs& args) {                                    \
    REPDL_DOUBLE_##dtypes(1, Function);                                           \
    if constexpr (std::is_same_v<Lanes, float>) {                                 \
      if (args.output_dtype == DType::kFloat32) {                                 \
        return MapOf<1, float>(args, [](Vec x) HWY_ATTR { return Function(x); }); \
      }                                                                           \
    }                                                                             \
    MapWideByTable<Function##Wide>(args, kGrain);                                 \
  }
#define REPDL_MAP_float(Function) MapOf<2, float>(args, [](Vec x, Vec y) HWY_ATTR { return Function(x, y); })
#define REPDL_MAP_double(Function) MapWide2<Function##Wide>(args, kGrain)
#define REPDL_BINARY(op, Function, Lanes, dtypes, first, second) \
  void Function##Kernel(const MapArgs& args) {                   \
    REPDL_DOUBLE_##dtypes(2, Function);                          \
    REPDL_MAP_##Lanes(Function);                                 \
  }
#include REPDL_FAMILY
#undef REPDL_UNARY
#undef REPDL_BINARY
#undef REPDL_MAP_float
#undef REPDL_MAP_double
#undef REPDL_DOUBLE_kUpToFloat32
#undef REPDL_DOUBLE_kUpToFloat64

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

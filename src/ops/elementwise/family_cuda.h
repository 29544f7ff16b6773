// SPDX-License-Identifier: MIT
// The CUDA kernels of the elementwise ops that the file REPDL_FAMILY lists.
#include "drivers/map_cuda.h"
#include "numerics/functions_scalar.h"
#include "ops/elementwise/elementwise_kernel.h"

namespace repdl::cuda {

#define REPDL_DOUBLE_kUpToFloat32(kInputs, Function)
#define REPDL_DOUBLE_kUpToFloat64(kInputs, Function) \
  if (args.output_dtype == DType::kFloat64) return MapDouble<kInputs, scalar::Function##Double>(place, args);
#define REPDL_UNARY(op, Function, Lanes, dtypes)                                                    \
  struct Function##Lane {                                                                           \
    DType output_dtype;                                                                             \
    REPDL_LANE float operator()(float x) const {                                                    \
      return output_dtype == DType::kFloat32 ? scalar::Function(x)                                  \
                                             : scalar::ViaDoubleToOdd(scalar::Function##Wide(), x); \
    }                                                                                               \
  };                                                                                                \
  REPDL_CUDA_KERNEL(Function##Kernel, MapArgs) {                                                    \
    REPDL_DOUBLE_##dtypes(1, Function);                                                             \
    Map<1, Function##Lane>(place, args);                                                            \
  }
#define REPDL_BINARY(op, Function, Lanes, dtypes, first, second)                           \
  struct Function##Lane {                                                                  \
    DType output_dtype;                                                                    \
    REPDL_LANE float operator()(float x, float y) const { return scalar::Function(x, y); } \
  };                                                                                       \
  REPDL_CUDA_KERNEL(Function##Kernel, MapArgs) {                                           \
    REPDL_DOUBLE_##dtypes(2, Function);                                                    \
    Map<2, Function##Lane>(place, args);                                                   \
  }
#include REPDL_FAMILY
#undef REPDL_UNARY
#undef REPDL_BINARY
#undef REPDL_DOUBLE_kUpToFloat32
#undef REPDL_DOUBLE_kUpToFloat64

}  // namespace repdl::cuda

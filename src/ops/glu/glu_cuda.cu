// SPDX-License-Identifier: MIT
#include "base/dispatch.h"
#include "drivers/map_cuda.h"
#include "drivers/row_cuda_thread.h"
#include "drivers/row_functions_cuda.h"
#include "ops/glu/glu_kernel.h"

namespace repdl::scalar {

#include "ops/glu/glu.row.h"

}  // namespace repdl::scalar

namespace repdl::cuda {

template <class T>
__global__ void __launch_bounds__(kThreadsPerBlock) GluGradOfEach(const __grid_constant__ GluGradArgs args) {
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < args.outer * args.inner; i += num_threads) {
    int64_t row = i;
    const int64_t column = scalar::TakeRemainder(row, args.inner);
    const int64_t of_value = row * 2 * args.inner + column, of_gate = of_value + args.inner;
    const auto load = [&](const void* from, int64_t at) { return scalar::LoadNumber<T>(from, args.dtype, at); };
    T by_value, by_gate;
    scalar::GluGradOf(scalar::Tag<T>(), load(args.grad_output, i), load(args.input, of_value),
                      load(args.input, of_gate), by_value, by_gate);
    scalar::StoreNumber(args.grad_input, args.dtype, of_value, by_value);
    scalar::StoreNumber(args.grad_input, args.dtype, of_gate, by_gate);
  }
}

REPDL_CUDA_KERNEL(GluKernel, MapArgs) {
  DispatchReal(args.output_dtype, [&]<class T>() { MapText<2, T>(place, args, scalar::GluText()); });
}
REPDL_CUDA_KERNEL(GluGradKernel, GluGradArgs) {
  DispatchReal(args.dtype, [&]<class T>() { Launch(place, args.outer * args.inner, &GluGradOfEach<T>, args); });
}

}  // namespace repdl::cuda

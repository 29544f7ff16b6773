// SPDX-License-Identifier: MIT
#include "base/dispatch.h"
#include "drivers/map_cuda.h"
#include "drivers/row_cuda_thread.h"
#include "ops/fake_quantize/fake_quantize_kernel.h"

namespace repdl::scalar {

#include "ops/fake_quantize/fake_quantize.row.h"

// A scale, rounded to float32, and the inverse of that.
REPDL_LANE float ScaleOf(float s) { return s; }
REPDL_LANE float InverseOf(float s) { return Div(1.0f, s); }
REPDL_LANE double ScaleOf(double s) { return ToDouble(Tag<double>(), ToFloat(Tag<float>(), s)); }
REPDL_LANE double InverseOf(double s) { return ToDouble(Tag<double>(), Div(1.0f, ToFloat(Tag<float>(), s))); }

}  // namespace repdl::scalar

namespace repdl::cuda {

template <class T, bool kZeroFirst>
__global__ void __launch_bounds__(kThreadsPerBlock) FakeQuantizeEach(const __grid_constant__ FakeQuantizeArgs args) {
  const T low = static_cast<T>(args.low), high = static_cast<T>(args.high);
  ForEachNumber<3, T>(args.map, [&](int64_t at, const T(&x)[3]) {
    const T step = scalar::QuantizedStep<kZeroFirst>(x[0], scalar::InverseOf(x[1]), x[2]);
    scalar::StoreNumber(args.map.output, args.map.output_dtype, at,
                        scalar::ValueOfStep(step, scalar::ScaleOf(x[1]), x[2], low, high));
    args.mask[at] = scalar::IsWithin(step, low, high);
  });
}

template <class T>
__global__ void __launch_bounds__(kThreadsPerBlock)
    FakeQuantizeGradEach(const __grid_constant__ FakeQuantizeGradArgs args) {
  const T low = static_cast<T>(args.low), high = static_cast<T>(args.high), factor = static_cast<T>(args.factor);
  ForEachNumber<4, T>(args.map, [&](int64_t at, const T(&x)[4]) {
    T by_input, by_scale, by_zero;
    scalar::FakeQuantizeGradOf(x[0], x[1], scalar::ScaleOf(x[2]), scalar::InverseOf(x[2]), x[3], low, high, factor,
                               by_input, by_scale, by_zero);
    static_cast<T*>(args.map.output)[at] = by_input;
    static_cast<T*>(args.grad_scale)[at] = by_scale;
    static_cast<T*>(args.grad_zero_point)[at] = by_zero;
  });
}

template <class T>
struct QuantizeText {
  T low, high;

  template <class D>
  REPDL_ROW T operator()(D, T x, T scale, T zero) const {
    return scalar::QuantizedOf(x, scalar::InverseOf(scale), zero, low, high);
  }
};

REPDL_CUDA_KERNEL(FakeQuantizeKernel, FakeQuantizeArgs) {
  DispatchReal(args.map.output_dtype, [&]<class T>() {
    Launch(place, args.map.numel, args.zero_first ? &FakeQuantizeEach<T, true> : &FakeQuantizeEach<T, false>, args);
  });
}
REPDL_CUDA_KERNEL(FakeQuantizeGradKernel, FakeQuantizeGradArgs) {
  DispatchReal(args.map.output_dtype,
               [&]<class T>() { Launch(place, args.map.numel, &FakeQuantizeGradEach<T>, args); });
}
REPDL_CUDA_KERNEL(QuantizeKernel, QuantizeArgs) {
  DispatchReal(args.map.output_dtype, [&]<class T>() {
    MapText<3, T>(place, args.map, QuantizeText<T>{static_cast<T>(args.low), static_cast<T>(args.high)});
  });
}

}  // namespace repdl::cuda

// SPDX-License-Identifier: MIT
#include "drivers/map_cpu-inl.h"
#include "drivers/row_cpu-inl.h"
#include "drivers/row_functions_cpu-inl.h"
#include "ops/glu/glu_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

#include "ops/glu/glu.row.h"

constexpr int64_t kGrain = 8192;

void GluKernel(const MapArgs& args) {
  DispatchReal(args.output_dtype, [&]<class T>() { MapText<2, T>(args, kGrain, GluText()); });
}

/// Of numbers side by side.
template <class T>
HWY_NOINLINE void GradOfRun(const T* grad, const T* value, const T* gate, T* grad_value, T* grad_gate, int64_t n) {
  ForVectors<T>(n, [&](int64_t i, int64_t count) HWY_ATTR {
    VecOf<T> by_value, by_gate;
    GluGradOf(TagOf<T>(), LoadN(grad + i, count, 1), LoadN(value + i, count, 1), LoadN(gate + i, count, 1), by_value,
              by_gate);
    StoreN(by_value, grad_value + i, count);
    StoreN(by_gate, grad_gate + i, count);
  });
}

template <class T>
void RunGrad(const GluGradArgs& args) {
  const bool direct = args.dtype == kDTypeOf<T>;
  ParallelRanges(args.outer * args.inner, kGrain / 2, [&](int64_t begin, int64_t end) HWY_ATTR {
    HWY_ALIGN T buffers[5][kMapRun];
    for (int64_t at = begin; at < end;) {
      const int64_t row = at / args.inner, column = at % args.inner;
      const int64_t of_value = row * 2 * args.inner + column, of_gate = of_value + args.inner;
      int64_t n = std::min(end - at, args.inner - column);
      if (!direct) n = std::min(n, kMapRun);
      const T* grad = NumbersSideBySide(args.grad_output, args.dtype, at, 1, n, buffers[0]);
      const T* value = NumbersSideBySide(args.input, args.dtype, of_value, 1, n, buffers[1]);
      const T* gate = NumbersSideBySide(args.input, args.dtype, of_gate, 1, n, buffers[2]);
      if (direct) {
        T* to = static_cast<T*>(args.grad_input);
        GradOfRun<T>(grad, value, gate, to + of_value, to + of_gate, n);
      } else if constexpr (std::is_same_v<T, float>) {
        uint16_t* to = static_cast<uint16_t*>(args.grad_input);
        GradOfRun<T>(grad, value, gate, buffers[3], buffers[4], n);
        NarrowTo(args.dtype, buffers[3], to + of_value, n);
        NarrowTo(args.dtype, buffers[4], to + of_gate, n);
      }
      at += n;
    }
  });
}

void GluGradKernel(const GluGradArgs& args) {
  DispatchReal(args.dtype, [&]<class T>() { RunGrad<T>(args); });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

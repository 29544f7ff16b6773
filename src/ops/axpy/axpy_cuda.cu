// SPDX-License-Identifier: MIT
#include "base/dispatch.h"
#include "drivers/map_cuda.h"
#include "drivers/row_cuda_thread.h"
#include "ops/axpy/axpy_kernel.h"

namespace repdl::scalar {

#include "ops/axpy/axpy.row.h"

}  // namespace repdl::scalar

namespace repdl::cuda {

template <Axpy kOp, class T>
struct AxpyStep {
  T c;

  REPDL_ROW T operator()(scalar::Tag<T>, T x, T y) const {
    if constexpr (kOp == Axpy::kAdd) {
      return scalar::AddMultiple(x, y, c);
    } else if constexpr (kOp == Axpy::kSub) {
      return scalar::SubMultiple(x, y, c);
    } else {
      static_assert(kOp == Axpy::kLerp);
      return c > T{-0.5} && c < T{0.5} ? scalar::LerpFromStart(x, y, c)
                                       : scalar::LerpFromEnd(x, y, scalar::Sub(T{1}, c));
    }
  }
  REPDL_ROW T operator()(scalar::Tag<T>, T x, T y, T z) const {
    if constexpr (kOp == Axpy::kAddcmul) {
      return scalar::AddProduct(x, y, z, c);
    } else if constexpr (kOp == Axpy::kAddcdiv) {
      return scalar::AddQuotient(x, y, z, c);
    } else {
      static_assert(kOp == Axpy::kLerpTensor);
      return scalar::LerpBy(scalar::Tag<T>(), x, y, z);
    }
  }
};

template <int kInputs, Axpy kOp>
static void Run(const Place& place, const AxpyArgs& args) {
  DispatchReal(args.map.output_dtype,
               [&]<class T>() { MapText<kInputs, T>(place, args.map, AxpyStep<kOp, T>{static_cast<T>(args.scalar)}); });
}

REPDL_CUDA_KERNEL(AxpyKernel, AxpyArgs) {
  switch (args.op) {
    case Axpy::kAdd: return Run<2, Axpy::kAdd>(place, args);
    case Axpy::kSub: return Run<2, Axpy::kSub>(place, args);
    case Axpy::kAddcmul: return Run<3, Axpy::kAddcmul>(place, args);
    case Axpy::kAddcdiv: return Run<3, Axpy::kAddcdiv>(place, args);
    case Axpy::kLerp: return Run<2, Axpy::kLerp>(place, args);
    case Axpy::kLerpTensor: return Run<3, Axpy::kLerpTensor>(place, args);
  }
}

}  // namespace repdl::cuda

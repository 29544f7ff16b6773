// SPDX-License-Identifier: MIT
#include "base/dispatch.h"
#include "drivers/matrix_product_cuda.h"
#include "ops/mm/mm_kernel.h"

namespace repdl::cuda {

REPDL_CUDA_KERNEL(MmKernel, MmArgs) {
  DispatchReal(args.dtype, [&]<class T>() {
    ProductCall<T> call{};
    call.m = args.m, call.n = args.n, call.k = args.k, call.batch = args.batch;
    call.chain = ChainLength(args.order, args.k);
    call.a.lines = args.m, call.b.lines = args.n;
    if (args.k > 0) {  // operands without elements may lie nowhere: nothing steps through them
      call.a = {static_cast<const T*>(args.a),     args.m, args.a_row_stride, args.a_col_stride,
                scalar::DeviceLoops(args.a_batch), {}};
      call.b = {static_cast<const T*>(args.b),     args.n, args.b_col_stride, args.b_row_stride,
                scalar::DeviceLoops(args.b_batch), {}};
    }
    call.c = static_cast<T*>(args.c);
    call.bias = static_cast<const T*>(args.bias), call.bias_stride = args.bias_stride;
    Product(place, call);
  });
}

}  // namespace repdl::cuda

// SPDX-License-Identifier: MIT
#include "repdl/ops/max_pool2d.h"

#include "base/check.h"
#include "base/dispatch.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "base/op_scratch.h"
#include "drivers/contiguous.h"
#include "ops/max_pool2d/max_pool2d_kernel.h"

namespace repdl {
namespace {

/// Number of windows along one dimension, as torch counts them.
int64_t OutSize(int64_t size, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation, bool ceil_mode) {
  const int64_t reach = size + 2 * padding - dilation * (kernel - 1) - 1 + (ceil_mode ? stride - 1 : 0);
  if (reach < 0) return 0;
  int64_t out = reach / stride + 1;
  // The last window must start inside the image or its left padding.
  if (ceil_mode && (out - 1) * stride >= size + padding) --out;
  return out;
}

IntPair StrideOr(IntPair stride, IntPair kernel_size) { return stride.h == 0 && stride.w == 0 ? kernel_size : stride; }

}  // namespace

Specs InferMaxPool2d(const TensorView& input, IntPair kernel_size, IntPair stride, IntPair padding, IntPair dilation,
                     bool ceil_mode) {
  const ArgName name{"max_pool2d", "input"};
  CheckFloat(name, input, input);
  CheckRank(name, input, 3, 4, "(n, c, h, w) or (c, h, w)");
  stride = StrideOr(stride, kernel_size);
  CheckPair({"max_pool2d", "kernel_size"}, kernel_size, 1);
  CheckPair({"max_pool2d", "stride"}, stride, 1);
  CheckPair({"max_pool2d", "dilation"}, dilation, 1);
  CheckPair({"max_pool2d", "padding"}, padding, 0);
  REPDL_CHECK(2 * padding.h <= kernel_size.h && 2 * padding.w <= kernel_size.w, ArgName{"max_pool2d", "padding"}, " (",
              padding.h, ", ", padding.w, ") must be at most half the kernel size (", kernel_size.h, ", ",
              kernel_size.w, ")");
  IntList shape = input.shape;
  int64_t& h = shape[shape.size() - 2];
  int64_t& w = shape[shape.size() - 1];
  h = OutSize(h, kernel_size.h, stride.h, padding.h, dilation.h, ceil_mode);
  w = OutSize(w, kernel_size.w, stride.w, padding.w, dilation.w, ceil_mode);
  REPDL_CHECK(input.shape[input.rank() - 2] * input.shape[input.rank() - 1] <= INT32_MAX, name, " of shape ",
              Name(input.shape), " has images of more than 2^31 - 1 places, which is not supported");
  REPDL_CHECK(kernel_size.h * kernel_size.w <= INT32_MAX, ArgName{"max_pool2d", "kernel_size"}, " (", kernel_size.h,
              ", ", kernel_size.w, ") has more than 2^31 - 1 places, which is not supported");
  REPDL_CHECK(h > 0 && w > 0, name, " of shape ", Name(input.shape), " is smaller than the window (", kernel_size.h,
              ", ", kernel_size.w, ")");
  return {{input.dtype, shape}, {DType::kInt64, shape}};
}

void MaxPool2d(const TensorView& input, IntPair kernel_size, IntPair stride, IntPair padding, IntPair dilation,
               bool ceil_mode, Out output, Out indices) {
  const FpEnvGuard guard;
  CheckOutputs("max_pool2d", InferMaxPool2d(input, kernel_size, stride, padding, dilation, ceil_mode),
               {&output, &indices}, input);
  const Place place = PlaceOf("max_pool2d", input);
  if (output.numel() == 0) return;
  DispatchReal(input.dtype, [&]<class T>() {
    OpScratch scratch(place);
    MaxPool2dArgs<T> args{};
    args.h = input.shape[input.rank() - 2], args.w = input.shape[input.rank() - 1];
    args.out_h = output.shape[output.rank() - 2], args.out_w = output.shape[output.rank() - 1];
    args.planes = output.numel() / (args.out_h * args.out_w);
    args.kernel = kernel_size, args.stride = StrideOr(stride, kernel_size);
    // The stride to a second row or column of windows that is not there would only cost room.
    if (args.out_h == 1) args.stride.h = 1;
    if (args.out_w == 1) args.stride.w = 1;
    args.padding = padding, args.dilation = dilation;
    args.input = Contiguous(input, scratch).Data<const T>();
    args.output = output.Data<T>();
    args.indices = indices.Data<int64_t>();
    MaxPool2dKernel(place, args);
  });
}

Specs InferMaxPool2dGrad(const TensorView& grad_output, const TensorView& indices, const IntList& input_shape) {
  const ArgName name{"max_pool2d_grad", "grad_output"};
  CheckFloat(name, grad_output, grad_output);
  CheckRank(name, grad_output, 3, 4, "(n, c, p, q) or (c, p, q)");
  CheckDType({"max_pool2d_grad", "indices"}, indices, DType::kInt64);
  CheckSameDevice({"max_pool2d_grad", "indices"}, indices, grad_output);
  CheckShape({"max_pool2d_grad", "indices"}, indices, grad_output.shape);
  const int rank = grad_output.rank();
  REPDL_CHECK(
      input_shape.size() == rank && std::equal(input_shape.begin(), input_shape.end() - 2, grad_output.shape.begin()),
      ArgName{"max_pool2d_grad", "input_shape"}, " ", Name(input_shape),
      " must have the leading dimensions of grad_output, ", Name(grad_output.shape));
  REPDL_CHECK(input_shape[rank - 2] >= 0 && input_shape[rank - 1] >= 0, ArgName{"max_pool2d_grad", "input_shape"}, " ",
              Name(input_shape), " has a negative size");
  return {{grad_output.dtype, input_shape}};
}

void MaxPool2dGrad(const TensorView& grad_output, const TensorView& indices, const IntList& input_shape,
                   Out grad_input) {
  const FpEnvGuard guard;
  CheckOutputs("max_pool2d_grad", InferMaxPool2dGrad(grad_output, indices, input_shape), {&grad_input}, grad_output);
  const Place place = PlaceOf("max_pool2d_grad", grad_output);
  // An empty image still has no place for an index to name.
  if (grad_input.numel() == 0 && indices.numel() == 0) return;
  DispatchReal(grad_output.dtype, [&]<class T>() {
    OpScratch scratch(place);
    MaxPool2dArgs<T> args{};
    const int rank = grad_output.rank();
    args.h = input_shape[rank - 2], args.w = input_shape[rank - 1];
    args.out_h = grad_output.shape[rank - 2], args.out_w = grad_output.shape[rank - 1];
    args.planes = 1;
    for (int i = 0; i < rank - 2; ++i) args.planes *= input_shape[i];
    args.grad_output = Contiguous(grad_output, scratch).Data<const T>();
    args.indices = Contiguous(indices, scratch).Data<int64_t>();
    args.grad_input = grad_input.Data<T>();
    CheckCpu(place);  // the kernel answers into its memory
    int32_t bad_index = 0;
    args.bad_index = &bad_index;
    MaxPool2dGradKernel(place, args);
    REPDL_CHECK(bad_index == 0, ArgName{"max_pool2d_grad", "indices"},
                " holds a number that is not a place in an image of ", args.h, " x ", args.w);
  });
}

}  // namespace repdl

REPDL_OPS(max_pool2d,
          MakeOp<InferMaxPool2d, MaxPool2d, MaxPool2dKernel>(
              "max_pool2d", "input, kernel_size, stride=0, padding=0, dilation=1, ceil_mode=False", kFloat32Or64),
          MakeOp<InferMaxPool2dGrad, MaxPool2dGrad, MaxPool2dGradKernel>("max_pool2d_grad",
                                                                         "grad_output, indices, input_shape",
                                                                         kFloat32Or64))

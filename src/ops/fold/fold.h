// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "repdl/op.h"
#include "repdl/per_axis.h"

/*! fold
Each element of the result is the sum of the elements of `input` that meet it, from +0, in row-major order of their places in
the kernel. `input[…, (c, u), k]` meets `output[…, c, x]` where x = k · stride − padding + u · dilation along each dimension;
what falls outside is left out. There are as many k along a dimension as kernels fit into its size with padding.
*/

/*! unfold_grad
The gradient of `torch.Tensor.unfold`: each element of the result is the sum of the elements of the windows that it is in, from
+0, in order of the windows. Window k has the places from k · step on.
*/

/*! pad_grad
The gradient of padding with reflected or repeated elements: each element of the result is the sum of the elements of
`grad_output` at its copies, from +0, in row-major order. Along a dimension of size n the padded place i is, of the element
j = i − before: in mode 'replicate' the nearest in [0, n), in mode 'reflect' −j below 0, and 2 · (n − 1) − j from n on.
*/

namespace repdl {

/// input (n, c · kernel places, blocks) or without n; output (n, c, …) with output_size, of one to three dimensions.
Specs InferFold(const TensorView& input, const IntList& output_size, const PerAxis& kernel_size, const PerAxis& stride,
                const PerAxis& padding, const PerAxis& dilation);
void Fold(const TensorView& input, const IntList& output_size, const PerAxis& kernel_size, const PerAxis& stride,
          const PerAxis& padding, const PerAxis& dilation, Out output);

/// grad_output (…, windows, size of a window); grad_input (…, length).
Specs InferUnfoldGrad(const TensorView& grad_output, int64_t length, int64_t step);
void UnfoldGrad(const TensorView& grad_output, int64_t length, int64_t step, Out grad_input);

/// padding: before and after each of one to three dimensions from `dim` on; negative where elements were cut off.
Specs InferPadGrad(const TensorView& grad_output, const IntList& padding, std::string_view mode, int64_t dim);
void PadGrad(const TensorView& grad_output, const IntList& padding, std::string_view mode, int64_t dim, Out grad_input);

}  // namespace repdl

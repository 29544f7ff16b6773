// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "repdl/op.h"
#include "repdl/order.h"
#include "repdl/per_axis.h"

/*! convolution
Of one to three dimensions of space. With C input channels, O output channels and G groups, group g joins input channels
g·C/G … and output channels g·O/G … Written for one dimension; with more, each has its own stride s, padding p and dilation d:

`output[n, o, q] = Product(input[n, c, q·s - p + u·d], weight[o, c', u]) + bias[o]`, over the input channel c of the group
(c' counts it within the group) and the place u in the kernel, the last dimension first: of a volume k = ((c'·KD + t)·KH + u)·KW
+ v. A term whose input lies outside is absent. Without a bias, the product alone.

Transposed, it is the gradient of such a convolution by its input, plus the bias: weight is (C, O/G, …), `output[n, o, x] =
Product(input[n, c, q], weight[c, o', u]) + bias[o]` over c and u, where q = (x + p - u·d) / s; a term is absent unless that
leaves no remainder and q lies inside the input. output_padding is how many places more the output has at its ends.
*/

/*! convolution_grad_input
The gradient of convolution by its input: `grad_input[n, c, x] = Product(grad_output[n, o, q], weight[o, c', u])` over the
output channel o of the group and the place u in the kernel, as of convolution transposed. That of convolution transposed is a
convolution of grad_output.
*/

/*! convolution_grad_kernel
The gradient of convolution by its weight: `grad_weight[o, c', u] = Product(grad_output[n, o, q], input[n, c, q·s - p + u·d])`
over the sample n and the output's place q, the last dimension first. A term whose input lies outside is absent. Transposed,
grad_output is read as input is here, and input as grad_output.
*/

/*! integer_convolution
The formula of `convolution`, transposed or not, in integers modulo 2^n, n being the bits of the type: a sum is exact in any
order.
*/

/*! conv2d
With C input channels, O output channels and G groups, group g joins input channels g·C/G … and output channels g·O/G …

`output[n, o, p, q] = Product(input[n, c, p·sh - ph + u·dh, q·sw - pw + v·dw], weight[o, c', u, v]) + bias[o]`, over the
input channel c of the group (c' counts it within the group), the kernel row u and the kernel column v, in this order: k =
(c'·KH + u)·KW + v. A term whose input lies outside the image is absent. Without a bias, the product alone.
*/

/*! conv2d_grad_input
The gradient of conv2d by its input: `grad_input[n, c, h, w] = Product(grad_output[n, o, p, q], weight[o, c', u, v])` over the
output channel o of the group, u and v: k = (o'·KH + u)·KW + v. Here p = (h + ph - u·dh) / sh and q = (w + pw - v·dw) / sw; a
term is absent unless both divisions leave no remainder and (p, q) lies inside the output.
*/

/*! conv2d_grad_kernel
The gradient of conv2d by its weight: `grad_weight[o, c', u, v] = Product(grad_output[n, o, p, q], input[n, c, p·sh - ph + u·dh,
q·sw - pw + v·dw])` over the sample n, the output row p and the output column q: k = (n·P + p)·Q + q. A term whose input lies
outside the image is absent.
*/

namespace repdl {

/// As Convolution, of integers of one type.
Specs InferIntegerConvolution(const TensorView& input, const TensorView& weight, const std::optional<TensorView>& bias,
                              const PerAxis& stride, const PerAxis& padding, const PerAxis& dilation, bool transposed,
                              const PerAxis& output_padding, int64_t groups);
void IntegerConvolution(const TensorView& input, const TensorView& weight, const std::optional<TensorView>& bias,
                        const PerAxis& stride, const PerAxis& padding, const PerAxis& dilation, bool transposed,
                        const PerAxis& output_padding, int64_t groups, Out output);

/// input (n, c, …) with one to three dimensions of space, weight (o, c / groups, …), or (c, o / groups, …) if transposed,
/// bias (o), output (n, o, …). output_padding counts if transposed. Results of convolutions are row-major, or have their
/// channels, dimension 1, as the last in memory.
Specs InferConvolution(const TensorView& input, const TensorView& weight, const std::optional<TensorView>& bias,
                       const PerAxis& stride, const PerAxis& padding, const PerAxis& dilation, bool transposed,
                       const PerAxis& output_padding, int64_t groups, Order order);
void Convolution(const TensorView& input, const TensorView& weight, const std::optional<TensorView>& bias,
                 const PerAxis& stride, const PerAxis& padding, const PerAxis& dilation, bool transposed,
                 const PerAxis& output_padding, int64_t groups, Order order, Out output);

Specs InferConvolutionGradInput(const IntList& input_shape, const TensorView& weight, const TensorView& grad_output,
                                const PerAxis& stride, const PerAxis& padding, const PerAxis& dilation, bool transposed,
                                const PerAxis& output_padding, int64_t groups, Order order);
void ConvolutionGradInput(const IntList& input_shape, const TensorView& weight, const TensorView& grad_output,
                          const PerAxis& stride, const PerAxis& padding, const PerAxis& dilation, bool transposed,
                          const PerAxis& output_padding, int64_t groups, Order order, Out grad_input);

Specs InferConvolutionGradKernel(const TensorView& input, const IntList& weight_shape, const TensorView& grad_output,
                                 const PerAxis& stride, const PerAxis& padding, const PerAxis& dilation,
                                 bool transposed, const PerAxis& output_padding, int64_t groups, Order order);
void ConvolutionGradKernel(const TensorView& input, const IntList& weight_shape, const TensorView& grad_output,
                           const PerAxis& stride, const PerAxis& padding, const PerAxis& dilation, bool transposed,
                           const PerAxis& output_padding, int64_t groups, Order order, Out grad_weight);

/// input (n, c, h, w), weight (o, c / groups, kh, kw), bias (o), output (n, o, p, q).
Specs InferConv2d(const TensorView& input, const TensorView& weight, IntPair stride, IntPair padding, int64_t groups,
                  IntPair dilation, const std::optional<TensorView>& bias, Order order);
void Conv2d(const TensorView& input, const TensorView& weight, IntPair stride, IntPair padding, int64_t groups,
            IntPair dilation, const std::optional<TensorView>& bias, Order order, Out output);

Specs InferConv2dGradInput(const IntList& input_shape, const TensorView& weight, const TensorView& grad_output,
                           IntPair stride, IntPair padding, int64_t groups, IntPair dilation, Order order);
void Conv2dGradInput(const IntList& input_shape, const TensorView& weight, const TensorView& grad_output,
                     IntPair stride, IntPair padding, int64_t groups, IntPair dilation, Order order, Out grad_input);

Specs InferConv2dGradKernel(const TensorView& input, const IntList& weight_shape, const TensorView& grad_output,
                            IntPair stride, IntPair padding, int64_t groups, IntPair dilation, Order order);
void Conv2dGradKernel(const TensorView& input, const IntList& weight_shape, const TensorView& grad_output,
                      IntPair stride, IntPair padding, int64_t groups, IntPair dilation, Order order, Out grad_weight);

}  // namespace repdl

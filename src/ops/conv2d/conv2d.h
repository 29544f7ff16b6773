// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "repdl/op.h"
#include "repdl/order.h"

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

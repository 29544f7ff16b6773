// SPDX-License-Identifier: MIT
#pragma once

#include "repdl/op.h"
#include "repdl/order.h"

/*! grid_sample
A sample of an image, or of a volume, at each place of a grid: a sum of its neighbours, each `x * weight`, added in their
order, x first, then y, then z; the sum begins with the first product. A weight is the product of those along x, y and z, in
this order. A neighbour outside counts as +0, whatever its weight. Each step is rounded.

A coordinate g of the grid becomes the place p = (g + 1) · ((size − 1) / 2) with `align_corners`, else
((g + 1) · size − 1) / 2. With `border` it is brought into [0, size − 1]; with `reflection` first to r + low or, if q is odd,
(span − r) + low, for the remainder r of |p − low| by the span and the floor q of their quotient, where low and span are 0 and
size − 1 with align_corners, else −1/2 and size; with a span of 0 it is 0.
- `nearest`: the nearest element, the even one of two, with weight 1.
- `bilinear`: l = ⌊p⌋ with the weight (l + 1) − p, and l + 1 with p − l.
- `bicubic`: l − 1 to l + 2 for l = ⌊p⌋ of a p that is not brought anywhere, but each of them is, with the
  weights of `resample` for t = p − l.

A place of which a coordinate is NaN has the sample NaN.
*/

/*! grid_sample_grad_input
The gradient of `grid_sample` by its input: to an element, from +0 on, `grad * weight` is added for each place of which it
is a neighbour: the first neighbours of all places in their order, then the second ones, and so on.
*/

/*! grid_sample_grad_grid
The gradient of `grid_sample` by its grid. For each neighbour inside, in their order, Sum(x · grad) over the channels times the
product of the weights, in which the one along the axis is replaced by its derivative, is added to +0; at last comes the
product with size / 2, or (size − 1) / 2 with align_corners. The derivative of a weight takes the sign that padding
gives to the place: −1 where it was turned around, 0 where it lies on the border or beyond. `nearest` gives +0. A place of
which a coordinate is NaN gets NaN, unless the mode is nearest.
*/

namespace repdl {

/// input (n, c, h, w) and grid (n, p, q, 2), or (n, c, d, h, w) and (n, p, q, r, 3); the output is (n, c, p, q) or
/// (n, c, p, q, r). mode: "bilinear", "nearest" or "bicubic"; padding_mode: "zeros", "border" or "reflection".
Specs InferGridSample(const TensorView& input, const TensorView& grid, std::string_view mode,
                      std::string_view padding_mode, bool align_corners);
void GridSample(const TensorView& input, const TensorView& grid, std::string_view mode, std::string_view padding_mode,
                bool align_corners, Out output);

/// input_size: of the image or volume, without n and c.
Specs InferGridSampleGradInput(const TensorView& grad_output, const TensorView& grid, const IntList& input_size,
                               std::string_view mode, std::string_view padding_mode, bool align_corners);
void GridSampleGradInput(const TensorView& grad_output, const TensorView& grid, const IntList& input_size,
                         std::string_view mode, std::string_view padding_mode, bool align_corners, Out grad_input);

Specs InferGridSampleGradGrid(const TensorView& grad_output, const TensorView& input, const TensorView& grid,
                              std::string_view mode, std::string_view padding_mode, bool align_corners, Order order);
void GridSampleGradGrid(const TensorView& grad_output, const TensorView& input, const TensorView& grid,
                        std::string_view mode, std::string_view padding_mode, bool align_corners, Order order,
                        Out grad_grid);

}  // namespace repdl

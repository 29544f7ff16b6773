// SPDX-License-Identifier: MIT
#pragma once

#include "repdl/op.h"

/*! resample
Resizes one dimension after another, from the last to the first. Along each, element i of the result is a sum of a few
neighbours: `weight * x`, added in the order of the neighbours, each step rounded; the sum begins with the first product.
Weights and places are computed in binary64, by the steps below, and the weights are rounded to the dtype.

The scale is (size − 1) / (new − 1) with `align_corners`, and 0 for a single element; else 1 / factor for a factor
(`scales_w` of the last dimension, `scales_h`, `scales_d` of those before) above 0, else size / new. The place p of
element i is i · scale with align_corners, else (i + 1/2) · scale − 1/2.
- `linear`: p is made 0 if it is less. The neighbours are l = ⌊p⌋, at most size − 1, and l + 1, at most size − 1, with the
  weights 1 − w and w = p − l, at most 1.
- `cubic`: the neighbours are l − 1 to l + 2 for l = ⌊p⌋, brought into [0, size − 1], with the weights
  far(t + 1), near(t), near(1 − t) and far(2 − t) for t = p − l, where near(x) = ((a + 2) x − (a + 3)) x x + 1,
  far(x) = ((a x − 5 a) x + 8 a) x − 4 a and a = −3/4.
- with `antialias`: for the centre c = (i + 1/2) · scale, the stretch s = max(scale, 1) and the reach r = s, for cubic 2 s, for lanczos 3 s,
  the neighbours are those from max(trunc(c − r + 1/2), 0) to the one before min(trunc(c + r + 1/2), size). Neighbour j has
  the weight f(|(j − c + 1/2) / s|) over the sum of all of them from left to right, unless that is 0. f(x) is
  max(1 − x, 0), for cubic near(x) below 1, far(x) below 2 and else 0, with a = −1/2. For `lanczos`, which is with antialias
  only, it is 1 at 0, 3 (sin(πx) sin(πx/3)) / (π² (x x)) below 3, from left to right with correctly rounded sines and
  π² as the nearest number, and else 0.
- `nearest`: the neighbour is ⌊i · s⌋, at most size − 1, with the weight 1; for `nearest-exact` it is ⌊(i + 1/2) · s⌋. The scale
  s and each step are rounded to binary32: 1 / factor is rounded to it from binary64, size / new is a quotient in it.

A dimension that keeps its size stays as it is, whatever the factor; but not for `cubic` without antialias, nor for `nearest`
and `nearest-exact`.
*/

/*! resample_grad
The gradient of `resample` goes along the dimensions from the first to the last. Along each, an element of the input gets
+0 and, added one after the other, the products `grad * weight` of the sums in which it was the first neighbour, in their
order, then of those in which it was the second, and so on.
*/

namespace repdl {

/// The dimensions from `dim` on that `size` has sizes for, three at most. mode: "linear", "cubic", "lanczos", "nearest"
/// or "nearest-exact"; the last two have neither antialias nor align_corners, "lanczos" has antialias.
Specs InferResample(const TensorView& input, const IntList& size, std::string_view mode, bool antialias,
                    bool align_corners, std::optional<double> scales_d, std::optional<double> scales_h,
                    std::optional<double> scales_w, int64_t dim);
void Resample(const TensorView& input, const IntList& size, std::string_view mode, bool antialias, bool align_corners,
              std::optional<double> scales_d, std::optional<double> scales_h, std::optional<double> scales_w,
              int64_t dim, Out output);

/// input_size: of the resized dimensions.
Specs InferResampleGrad(const TensorView& grad_output, const IntList& input_size, std::string_view mode, bool antialias,
                        bool align_corners, std::optional<double> scales_d, std::optional<double> scales_h,
                        std::optional<double> scales_w, int64_t dim);
void ResampleGrad(const TensorView& grad_output, const IntList& input_size, std::string_view mode, bool antialias,
                  bool align_corners, std::optional<double> scales_d, std::optional<double> scales_h,
                  std::optional<double> scales_w, int64_t dim, Out grad_input);

}  // namespace repdl

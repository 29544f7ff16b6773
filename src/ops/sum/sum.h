// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "repdl/op.h"
#include "repdl/order.h"

/*! sum
`output = Sum(input)` over the dimensions `dim`, or over all of them if `dim` is None or empty. With `average` the sum over N terms is then multiplied
by `float32(1 / N)`, the quotient in double: the mean of microsoft/RepDL.
*/

/*! mean
`output = Sum(input) / float32(N)` over the dimensions `dim`, or over all of them if `dim` is None or empty; N is the number of terms.
*/

/*! norm
`output = sqrt(Sum(input * input))` over the dimensions `dim`, or over all of them if `dim` is None or empty.
*/

/*! var
`output = Sum((input - m) * (input - m)) / float32(max(N - correction, 0))` over the dimensions `dim`, or over all of them
if `dim` is None or empty; N is the number of terms and m their `mean`. The difference before the quotient is one of doubles.
*/

/*! std
`output = sqrt(var)`, with the same arguments.
*/

/*! complex_sum
Complex numbers are pairs in a last dimension of size 2; `dim` counts the others. `output = Sum(input)` over the dimensions
`dim`, or over all of them if `dim` is None or empty: the sum of the real parts and that of the imaginary parts.
*/

/*! complex_mean
The two `mean`s of the parts; dimensions as for `complex_sum`.
*/

/*! complex_norm
`output = sqrt(Sum(x * x))` of real and imaginary parts by turns; dimensions as for `complex_sum`. The result is real.
*/

/*! complex_var
The `var` of the real parts plus that of the imaginary ones; dimensions as for `complex_sum`. The result is real.
*/

/*! complex_std
`output = sqrt(complex_var)`, with the same arguments.
*/

namespace repdl {

/// output has size 1 in the reduced dimensions with keepdim, else lacks them.
Specs InferSum(const TensorView& input, const std::optional<IntList>& dim, bool keepdim, bool average, Order order);
void Sum(const TensorView& input, const std::optional<IntList>& dim, bool keepdim, bool average, Order order,
         Out output);

Specs InferMean(const TensorView& input, const std::optional<IntList>& dim, bool keepdim, Order order);
void Mean(const TensorView& input, const std::optional<IntList>& dim, bool keepdim, Order order, Out output);

Specs InferNorm(const TensorView& input, const std::optional<IntList>& dim, bool keepdim, Order order);
void Norm(const TensorView& input, const std::optional<IntList>& dim, bool keepdim, Order order, Out output);

Specs InferVar(const TensorView& input, const std::optional<IntList>& dim, double correction, bool keepdim,
               Order order);
void Var(const TensorView& input, const std::optional<IntList>& dim, double correction, bool keepdim, Order order,
         Out output);
Specs InferStd(const TensorView& input, const std::optional<IntList>& dim, double correction, bool keepdim,
               Order order);
void Std(const TensorView& input, const std::optional<IntList>& dim, double correction, bool keepdim, Order order,
         Out output);

/// Of pairs, (…, 2). The results of the first two are pairs too.
Specs InferComplexSum(const TensorView& input, const std::optional<IntList>& dim, bool keepdim, Order order);
void ComplexSum(const TensorView& input, const std::optional<IntList>& dim, bool keepdim, Order order, Out output);
Specs InferComplexMean(const TensorView& input, const std::optional<IntList>& dim, bool keepdim, Order order);
void ComplexMean(const TensorView& input, const std::optional<IntList>& dim, bool keepdim, Order order, Out output);
Specs InferComplexNorm(const TensorView& input, const std::optional<IntList>& dim, bool keepdim, Order order);
void ComplexNorm(const TensorView& input, const std::optional<IntList>& dim, bool keepdim, Order order, Out output);
Specs InferComplexVar(const TensorView& input, const std::optional<IntList>& dim, double correction, bool keepdim,
                      Order order);
void ComplexVar(const TensorView& input, const std::optional<IntList>& dim, double correction, bool keepdim,
                Order order, Out output);
Specs InferComplexStd(const TensorView& input, const std::optional<IntList>& dim, double correction, bool keepdim,
                      Order order);
void ComplexStd(const TensorView& input, const std::optional<IntList>& dim, double correction, bool keepdim,
                Order order, Out output);

}  // namespace repdl

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

}  // namespace repdl

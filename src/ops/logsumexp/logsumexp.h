// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "repdl/op.h"
#include "repdl/order.h"

/*! logsumexp
Over the dimensions `dim`, or all, with m the largest xᵢ, or +0 where that is infinite: `output = log(Sum(exp(xᵢ - m))) + m`, exp and log
correctly rounded. A NaN makes NaN; of no numbers it is -inf.
*/

namespace repdl {

/// Without `dim`, or with an empty one, all dimensions are reduced; with `keepdim` they stay, with size 1.
Specs InferLogSumExp(const TensorView& input, const std::optional<IntList>& dim, bool keepdim, Order order);
void LogSumExp(const TensorView& input, const std::optional<IntList>& dim, bool keepdim, Order order, Out output);

}  // namespace repdl

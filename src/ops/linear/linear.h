// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "repdl/op.h"
#include "repdl/order.h"

/*! linear
`output[…, j] = Product(input[…, k], weight[j, k]) + bias[j]` over k; without a bias, the product alone.
*/

namespace repdl {

/// input (…, k), weight (n, k), bias (n), output (…, n).
Specs InferLinear(const TensorView& input, const TensorView& weight, const std::optional<TensorView>& bias,
                  Order order);
void Linear(const TensorView& input, const TensorView& weight, const std::optional<TensorView>& bias, Order order,
            Out output);

}  // namespace repdl

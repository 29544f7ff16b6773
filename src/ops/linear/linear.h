// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "repdl/op.h"
#include "repdl/order.h"

/*! linear
`output[…, j] = Product(input[…, k], weight[j, k]) + bias[j]` over k; without a bias, the product alone.
*/

/*! addmm
`output[i, j] = Product(mat1[i, k], mat2[k, j]) + input[j]` over k.
*/

namespace repdl {

/// input (…, k), weight (n, k), bias (n), output (…, n).
Specs InferLinear(const TensorView& input, const TensorView& weight, const std::optional<TensorView>& bias,
                  Order order);
void Linear(const TensorView& input, const TensorView& weight, const std::optional<TensorView>& bias, Order order,
            Out output);

/// input (n), mat1 (m, k), mat2 (k, n), output (m, n).
Specs InferAddmm(const TensorView& input, const TensorView& mat1, const TensorView& mat2, Order order);
void Addmm(const TensorView& input, const TensorView& mat1, const TensorView& mat2, Order order, Out output);

}  // namespace repdl

// SPDX-License-Identifier: MIT
#pragma once

#include "repdl/op.h"

/*! add
`output = input + (other * alpha)`, alpha rounded as a number parameter is; the operands are broadcast.
*/

/*! sub
`output = input - (other * alpha)`, alpha rounded as a number parameter is; the operands are broadcast.
*/

/*! addcmul
`output = input + ((tensor1 * value) * tensor2)`, value rounded as a number parameter is; the operands are broadcast.
*/

/*! addcdiv
`output = input + ((tensor1 * value) / tensor2)`, value rounded as a number parameter is; the operands are broadcast.
*/

/*! lerp
With w = weight rounded as a number parameter is: `output = input + ((end - input) * w)` if |w| < 0.5, and else
`output = end - ((end - input) * (1 - w))`; the operands are broadcast.
*/

/*! lerp_tensor
lerp with a weight w for each number; the operands are broadcast.
*/

namespace repdl {

/// Operands are float32, bfloat16 or float16, computed as float32, or all float64; BroadcastSpec says what the result is.
Specs InferAdd(const TensorView& input, const TensorView& other, double alpha);
void Add(const TensorView& input, const TensorView& other, double alpha, Out output);

Specs InferSub(const TensorView& input, const TensorView& other, double alpha);
void Sub(const TensorView& input, const TensorView& other, double alpha, Out output);

Specs InferAddcmul(const TensorView& input, const TensorView& tensor1, const TensorView& tensor2, double value);
void Addcmul(const TensorView& input, const TensorView& tensor1, const TensorView& tensor2, double value, Out output);

Specs InferAddcdiv(const TensorView& input, const TensorView& tensor1, const TensorView& tensor2, double value);
void Addcdiv(const TensorView& input, const TensorView& tensor1, const TensorView& tensor2, double value, Out output);

Specs InferLerp(const TensorView& input, const TensorView& end, double weight);
void Lerp(const TensorView& input, const TensorView& end, double weight, Out output);

Specs InferLerpTensor(const TensorView& input, const TensorView& end, const TensorView& weight);
void LerpTensor(const TensorView& input, const TensorView& end, const TensorView& weight, Out output);

}  // namespace repdl

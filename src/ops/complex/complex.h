// SPDX-License-Identifier: MIT
#pragma once

#include "repdl/op.h"

// The contracts of the functions of the table stand in their lane files, src/numerics/functions/complex_*.lane.h.

namespace repdl {

/// Operands are float32 or float64, (…, 2): pairs of a real and an imaginary part. So is the result, of the shape that
/// their other dimensions broadcast to.
#define REPDL_COMPLEX_UNARY(op, Function, Lanes)  \
  Specs Infer##Function(const TensorView& input); \
  void Function(const TensorView& input, Out result);
#define REPDL_COMPLEX_BINARY(op, Function, Lanes, first, second)            \
  Specs Infer##Function(const TensorView& first, const TensorView& second); \
  void Function(const TensorView& first, const TensorView& second, Out result);
#include "repdl/ops/complex.def"
#undef REPDL_COMPLEX_UNARY
#undef REPDL_COMPLEX_BINARY

/*! complex_abs
`hypot` of the two parts of each number, which are the last dimension of `input`, of size 2.
*/
Specs InferComplexAbs(const TensorView& input);
void ComplexAbs(const TensorView& input, Out result);

/*! complex_angle
`atan2` of the imaginary and the real part of each number, which are the last dimension of `input`, of size 2.
*/
Specs InferComplexAngle(const TensorView& input);
void ComplexAngle(const TensorView& input, Out result);

}  // namespace repdl

// SPDX-License-Identifier: MIT
#pragma once

#include "repdl/op.h"

/*! div
`output = input / other`, rounded once. The operands are broadcast.
*/

/*! sqrt
`output = sqrt(input)`, rounded once; NaN for input < 0, -0 for -0.
*/

// The contracts of the other functions stand in their lane files, src/numerics/<function>.lane.h.

namespace repdl {

/// The result has the shape that the operands broadcast to.
#define REPDL_UNARY(op, Function)                 \
  Specs Infer##Function(const TensorView& input); \
  void Function(const TensorView& input, Out result);
#include "repdl/ops/unary.def"
#undef REPDL_UNARY

#define REPDL_BINARY(op, Function, first, second)                           \
  Specs Infer##Function(const TensorView& first, const TensorView& second); \
  void Function(const TensorView& first, const TensorView& second, Out result);
#include "repdl/ops/binary.def"
#undef REPDL_BINARY

}  // namespace repdl

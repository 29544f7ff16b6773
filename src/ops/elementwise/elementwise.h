// SPDX-License-Identifier: MIT
#pragma once

#include "repdl/op.h"

/*! div
`output = input / other`, rounded once. The operands are broadcast.
*/

/*! mul
`output = input * other`, rounded once. The operands are broadcast.
*/

// The contracts of the functions stand in their lane files, src/numerics/functions/<function>.lane.h.

namespace repdl {

/// Operands have the dtypes of the row (in a call of two, of several narrow types, the result is float32; float64 stays
/// by itself). The result has the shape that the operands broadcast to.
#define REPDL_UNARY(op, Function, Lanes, dtypes)  \
  Specs Infer##Function(const TensorView& input); \
  void Function(const TensorView& input, Out result);
#define REPDL_BINARY(op, Function, Lanes, dtypes, first, second)            \
  Specs Infer##Function(const TensorView& first, const TensorView& second); \
  void Function(const TensorView& first, const TensorView& second, Out result);
#include "repdl/ops/elementwise.def"
#undef REPDL_UNARY
#undef REPDL_BINARY

}  // namespace repdl

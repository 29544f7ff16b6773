// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "repdl/op.h"

namespace repdl {

/// Of an op that takes float32, for tensors of `low` in their place: its outputs, of which those of float32 are of `low`.
Specs InferWidened(const OpInfo& op, std::span<const Value> values, DType low);

/// Runs it, on a CPU: the operands are widened, and the outputs rounded once. It may change no operand.
void RunWidened(const OpInfo& op, std::span<const Value> values, std::span<const TensorView> outputs, DType low);

}  // namespace repdl

// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>

#include "repdl/op.h"

namespace repdl {

/// A Python callable for an op: arguments by position or by name as its schema says, tensors of any framework in,
/// tensors of the first one's framework out. It serves as a kernel of torch.library as it is.
nanobind::object MakeOpCallable(const OpInfo& op);

/// The same for an op whose results may have their channels, dimension 1, as the last in memory: new tensors of torch, which
/// have.
nanobind::object MakeChannelsLastCallable(const OpInfo& op);

/// The outputs of an op as (dtype, shape) pairs, from anything with `shape` and `dtype`.
nanobind::list InferOutputs(const OpInfo& op, const nanobind::args& args);

}  // namespace repdl

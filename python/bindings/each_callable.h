// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include "repdl/op.h"

namespace repdl {

/// A kernel of lists for torch's dispatcher: calls `kernel` with the first item of each list among the arguments, then
/// with the second, …; other arguments are the same in each call, and those by position from `first_named` on get the
/// names. The result is the list of results; or None where the kernel changes its first argument, and the
/// Python function `changed` is told of the list of these. Lists of no or of
/// different lengths go to the Python function `fallback`.
nanobind::object MakeEachCallable(const nanobind::object& kernel, Py_ssize_t first_named,
                                  const std::vector<std::string>& names, const nanobind::object& changed,
                                  const nanobind::object& fallback);

/// The same for an op that changes its first argument and has no outputs, given all arguments by position: they are read
/// before the first step is done, and nothing but the op stands between two steps. On a device many of them are one launch.
nanobind::object MakeEachOp(const OpInfo& op, const nanobind::object& changed, const nanobind::object& fallback);

}  // namespace repdl

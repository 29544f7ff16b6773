// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>

#include "repdl/op.h"

namespace repdl {

/// Loads a shared library of ops that was built with the CMake function repdl_add_ops, and enters its ops in the table.
/// They run on the threads and the CPU target of this library. It stays loaded; to load it again changes nothing.
/// Throws ValueError for a file that is no such library, that was built for another version or other CPU targets, or
/// that has an op whose name is taken.
std::span<const OpInfo> LoadOps(const std::string& path);

}  // namespace repdl

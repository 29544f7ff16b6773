// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>

#include <string>

namespace repdl {

/// The op of a case and its arguments by name, tensors as NumPy arrays.
nanobind::tuple ReadCase(const std::string& text);

/// Runs a case of a golden file; returns the digest of its results.
std::string RunCase(const std::string& text);

}  // namespace repdl

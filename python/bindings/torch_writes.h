// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <vector>

namespace repdl {

/// The names of what WatchWrites takes the addresses of, in torch's library.
std::vector<const char*> WriteFunctions();

/// Lets torch's kernels refuse to write to elements that share memory, or that they read in other places, however they
/// do. By itself torch looks for that only where strides are zero and tensors dense; else threads and vectors decide. A
/// copy of what it would write to is that of all elements as they were, and one of floats to integers has the numbers of
/// ToInteger.
///
/// `refuses` is called for such tensors: False lets torch write to them. False if this build of torch does not let its
/// functions be replaced; then nothing is changed.
bool WatchWrites(const std::vector<uintptr_t>& functions, const nanobind::object& refuses);

/// Takes that back.
void EndWatch();

/// Whether elements of a view with these sizes and strides share memory.
bool ViewOverlaps(const std::vector<int64_t>& size, const std::vector<int64_t>& stride);

}  // namespace repdl

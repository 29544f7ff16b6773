// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <vector>

namespace repdl {

/// Lets torch's kernels refuse to write to a tensor of which elements share memory, however they do. By itself torch
/// refuses only strides of zero; else its threads write in any order.
///
/// `functions` says where torch has at::has_internal_overlap, aoti_torch_get_dim, …_sizes and …_strides. `refuses` is
/// called for such a tensor: False lets torch write to it. False if this build of torch does not let its check be
/// replaced; then nothing is changed.
bool WatchOverlap(const std::vector<uintptr_t>& functions, const nanobind::object& refuses);

/// Takes that back.
void EndOverlap();

/// Whether elements of a view with these sizes and strides share memory.
bool ViewOverlaps(const std::vector<int64_t>& size, const std::vector<int64_t>& stride);

}  // namespace repdl

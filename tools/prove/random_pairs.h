// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "repdl/tensor.h"

namespace repdl::prove {

/// Pair number i of a seed, as bit patterns: in turn any bits, numbers of moderate size, of nearly the same size, with
/// short fractions (whose results may be exact or halfway between two floats), and what is interesting for the op.
std::pair<uint32_t, uint32_t> RandomPair(std::string_view op, DType dtype, int64_t seed, int64_t i);

}  // namespace repdl::prove

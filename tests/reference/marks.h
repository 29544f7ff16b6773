// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "repdl/tensor.h"

namespace repdl::reference {

/// The marks of a golden line: a checksum of each of up to 64 blocks of the results (the head of every golden file says
/// how), written without the library's code.
std::string MarksOf(const std::vector<TensorView>& results);

}  // namespace repdl::reference

// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "repdl/tensor.h"

namespace repdl {

/// SHA-256, in hexadecimal, of the elements in row-major order, little-endian, every NaN read as
/// the quiet one of its type, 0x7fc00000 of float32. Shape and strides do not enter.
std::string Digest(const TensorView& tensor);

}  // namespace repdl

// SPDX-License-Identifier: MIT
#pragma once

#include "repdl/overlap.h"
#include "repdl/tensor.h"

namespace repdl {

/// What a conversion goes through before it is cut to the bytes of the result. A uint64 from 2^63 on is that much more
/// than the integer of the rest.
enum class Through { kInt32, kInt64, kUInt64 };

/// The bits of a float as an integer: rounded towards zero; the least where it is NaN or out of range.
uint64_t ToInteger(double x, Through through);

/// Converts the elements that C++ leaves to the machine: those that are NaN, or out of the range of the result. The others
/// are left as they are.
///
/// Args:
///   from: elements of `dtype`, float32, float64, float16 or bfloat16, which broadcast to the shape of `to`.
///   to: elements of 1, 2, 4 or 8 bytes, which share no memory with `from`.
void ConvertOutOfRange(const Strided& from, DType dtype, const Strided& to, bool is_signed, Through through);

}  // namespace repdl

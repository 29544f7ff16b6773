// SPDX-License-Identifier: MIT
#pragma once

#include "repdl/op.h"

/*! spaced
Of count evenly spaced numbers from start to end, the one at each place i = input, counted from 0. With start, end and
last = count - 1 rounded as number parameters are and step = (end - start) / last: `start + (step * i)` where
i < floor(count / 2), else `end - (step * (last - i))`.
*/

namespace repdl {

/// count is 2 or more. The places are float32, bfloat16 or float16, computed with as float32, or float64.
Specs InferSpaced(const TensorView& input, double start, double end, int64_t count);
void Spaced(const TensorView& input, double start, double end, int64_t count, Out output);

}  // namespace repdl

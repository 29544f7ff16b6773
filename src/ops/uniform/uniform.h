// SPDX-License-Identifier: MIT
#pragma once

#include "repdl/op.h"

/*! uniform
Numbers of [0, 1) moved to [low, high): `output = fma(input, high - low, low)`, low and high rounded to the dtype before the
difference. It is what torch's CPU `uniform_(low, high)` does on a CPU with AVX2.
*/

/*! box_muller
Uniform numbers of [0, 1) become normally distributed ones, as in torch's CPU `normal_`. Elements in row-major order are taken in blocks of
16. With u = element j and a = element 8 + j of a block, j < 8, every step rounded to float32,

```
radius         = sqrt(log(1 - u) * -2)
element j      = radius * cospi(2 a) * std + mean
element 8 + j  = radius * sinpi(2 a) * std + mean
```

log, cospi and sinpi are correctly rounded; products are taken from left to right.
*/

namespace repdl {

Specs InferUniform(const TensorView& input, double low, double high);
void Uniform(const TensorView& input, double low, double high, Out output);

/// The input has a multiple of 16 elements.
Specs InferBoxMuller(const TensorView& input, double mean, double std);
void BoxMuller(const TensorView& input, double mean, double std, Out output);

}  // namespace repdl

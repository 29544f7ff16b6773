// SPDX-License-Identifier: MIT
#pragma once

#include "repdl/op.h"

/*! cumsum
The sums of the first numbers along a dimension, from left to right, in double: `output[i]` is `(input[0] + input[1]) + … + input[i]`,
begun at +0, rounded to the dtype.
*/

/*! cumprod
The products of the first numbers along a dimension, from left to right, in double: `output[i]` is `(input[0] * input[1]) * … * input[i]`,
rounded to the dtype.
*/

/*! complex_cumsum
Complex numbers are pairs in a last dimension of size 2; `dim` counts the others. The `cumsum` of the real parts and that of the
imaginary ones.
*/

/*! complex_cumprod
Dimensions are those of `complex_cumsum`. The products of the first numbers, from left to right, in double: `output[0]` is
`input[0]`, and `output[i]` is `(input[0] * input[1]) * … * input[i]`, each a `complex_mul`, rounded to the dtype.
*/

/*! logcumsumexp
The logarithms of the sums of the exponentials of the first numbers x along a dimension. m is the largest number so far and r the sum of the
exponentials of the others, relative to m; at first m = -inf and r = 0. In double, with exp and log1p correctly rounded:

```
d = -|x - m|, or 0 if x = m
r = r + exp(d) if not x > m; else r = (r + 1) * exp(d), and then m = x
output = m + log1p(r), or m if r = 0
```

output is then rounded to the dtype.
*/

namespace repdl {

/// output has the shape of input.
Specs InferCumsum(const TensorView& input, int64_t dim);
void Cumsum(const TensorView& input, int64_t dim, Out output);

Specs InferCumprod(const TensorView& input, int64_t dim);
void Cumprod(const TensorView& input, int64_t dim, Out output);

Specs InferLogcumsumexp(const TensorView& input, int64_t dim);
void Logcumsumexp(const TensorView& input, int64_t dim, Out output);

/// Of pairs, (…, 2).
Specs InferComplexCumsum(const TensorView& input, int64_t dim);
void ComplexCumsum(const TensorView& input, int64_t dim, Out output);

Specs InferComplexCumprod(const TensorView& input, int64_t dim);
void ComplexCumprod(const TensorView& input, int64_t dim, Out output);

}  // namespace repdl

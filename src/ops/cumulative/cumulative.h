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

/*! complex_logcumsumexp
Dimensions are those of `complex_cumsum`. The logarithms of the sums of the exponentials of the first numbers. m + pi is the
number of the largest real part so far, the first of these; r is the sum of the exponentials of the others, relative to its; and l + qi is
the last result. At first m = l = -inf, and p, q and r are 0. In double, with functions of real numbers correctly rounded, for a
number a + bi:

```
d = m - a and t = p - b if a > m; else d = a - m, or 0 if a = m, and t = b - p
e = exp(d) * cos(t) + exp(d) * sin(t) i, or 0 if exp(d) = 0 or a = -inf
r = (r + 1) * e if a > m, and then m = a and p = b; else r = r + e
u + vi = complex_log1p(r), y = p + v
n = (q - y) * c if a < l, else (b - y) * c, the difference 0 of equal numbers, rounded to an integer, ties to even
l = m + u, and q = y if n = 0, else fma(n, c1, y) + n * c2
```

c, c1 and c2 are 1 / (2 pi), 2 pi and 2 pi - c1, rounded. So the imaginary part is one of those of the logarithm, the nearest to that of the
larger of what is added. If m was +inf already and a is, l + qi is the `complex_log` of the sum of the `complex_exp`s of
l + qi and a + bi, and then p = q and r = 0. The result is -inf + 0i while m is -inf. Both parts are NaN from the first number on
that has a NaN, and after a result that has one. Results are then rounded to the dtype.
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

Specs InferComplexLogcumsumexp(const TensorView& input, int64_t dim);
void ComplexLogcumsumexp(const TensorView& input, int64_t dim, Out output);

}  // namespace repdl

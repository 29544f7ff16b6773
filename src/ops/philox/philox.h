// SPDX-License-Identifier: MIT
#pragma once

#include "repdl/op.h"

/*! philox_bits
Element i is `word(i)`, in [0, 2^32).
*/

/*! philox_randint
Element i is one of the integers from `first` to `last`, both included. With n = last - first + 1 and
r = word(2 i) + 2^32 word(2 i + 1):

```
output = first + floor(r n / 2^64)
```

Each integer comes with a probability that differs from 1 / n by less than 2^-64.
*/

/*! philox_uniform
`output = fma(unit(word(i)), high - low, low)`, low and high rounded to float32 before the difference; rounded to the type of
the tensor. Where that is not below `high`, the largest number of that type below it takes its place (unless low = high). So
numbers of [0, 1) are multiples of 2^-24, rounded if the type has fewer bits.
*/

/*! philox_normal
Box and Muller's pairs. Elements i and i + 1, i even, are made from u = `open_unit(word(i))` and a = 2 `unit(word(i + 1))`,
every step rounded to float32:

```
radius        = sqrt(-2 * log(u))
element i     = fma(std, radius * cospi(a), mean)
element i + 1 = fma(std, radius * sinpi(a), mean)
```

log, cospi and sinpi are correctly rounded. The last result is rounded to the type of the tensor.
*/

/*! philox_bernoulli
Element i is 1 if `word(i) < floor(p 2^32)`, else 0, with p as a double.
*/

/*! philox_exponential
`output = -log(open_unit(word(i))) / lambd`, log correctly rounded, rounded to float32, then to the type of the tensor. It is
never 0 for an ordinary lambd.
*/

namespace repdl {

// Each fills a tensor of any strides, whose elements must not overlap. Element i is number offset + i of the stream of
// (seed, call), in row-major order. Integers are int64; other numbers float32, bfloat16 or float16.

Specs InferPhiloxBits(const InOut& tensor, int64_t seed, int64_t call, int64_t offset);
void PhiloxBits(InOut tensor, int64_t seed, int64_t call, int64_t offset);

Specs InferPhiloxRandint(const InOut& tensor, int64_t seed, int64_t call, int64_t first, int64_t last, int64_t offset);
void PhiloxRandint(InOut tensor, int64_t seed, int64_t call, int64_t first, int64_t last, int64_t offset);

Specs InferPhiloxUniform(const InOut& tensor, int64_t seed, int64_t call, double low, double high, int64_t offset);
void PhiloxUniform(InOut tensor, int64_t seed, int64_t call, double low, double high, int64_t offset);

Specs InferPhiloxNormal(const InOut& tensor, int64_t seed, int64_t call, double mean, double std, int64_t offset);
void PhiloxNormal(InOut tensor, int64_t seed, int64_t call, double mean, double std, int64_t offset);

Specs InferPhiloxBernoulli(const InOut& tensor, int64_t seed, int64_t call, double p, int64_t offset);
void PhiloxBernoulli(InOut tensor, int64_t seed, int64_t call, double p, int64_t offset);

Specs InferPhiloxExponential(const InOut& tensor, int64_t seed, int64_t call, double lambd, int64_t offset);
void PhiloxExponential(InOut tensor, int64_t seed, int64_t call, double lambd, int64_t offset);

}  // namespace repdl

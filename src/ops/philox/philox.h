// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

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

Of float64 it is `(n / 2^53) * (high - low) + low`, every step rounded, with `n = floor((word(2 i) + 2^32 word(2 i + 1)) / 2^11)`; where
that is not below `high`, the same.
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

/*! philox_log_normal
`output = exp(z)` with z of `philox_normal` as a float32, exp correctly rounded to float32, then rounded to the type of the tensor.
*/

/*! philox_cauchy
With `a = (2 floor(word(i) / 2^9) + 1) 2^-24 - 1/2`, exact, in (-1/2, 1/2), every step rounded to float32, sinpi and cospi
correctly:

```
output = median + sigma * (sinpi(a) / cospi(a))
```

The result is rounded to the type of the tensor.
*/

/*! philox_geometric
`output = min(max(ceil(e / -log1p(-p)), 1), highest)` with `e = -log(open_unit(word(i)))`, every step rounded to float32, log and
log1p correctly, without `highest` if that is None; then rounded to the type of the tensor.
*/

/*! philox_gamma
Gamma distributions of rate 1, by Marsaglia and Tsang (2000). alpha is rounded to float32, and so is every step. w0 to w3 are
the words of block i + 2^58 t in attempt t of element i, word(4 (i + 2^58 t)) and the next. With `a = alpha + 1` where alpha < 1, else
alpha, and d = a - 1/3 (1/3 as a float32),

```
x     = sqrt(-2 * log(open_unit(w0))) * cospi(2 unit(w1))
root  = 1 + x / sqrt(d * 9)
v     = root * root * root
bound = x * x * 0.5 + d - d * v + d * log(max(v, 2^-126))
```

z = d v of the first of 16 attempts with v > 0 and `log(open_unit(w2)) < bound`, or d if there is none. Where alpha < 1, z is multiplied
by `pow(open_unit(w3), 1 / alpha)`, w3 that of the first attempt. The output is max(z, 2^-126), rounded to the type of alpha; NaN
unless alpha > 0. Functions are correctly rounded; products and sums are taken from left to right.
*/

/*! philox_poisson
Computed in double, every step rounded, functions correctly rounded, from left to right. Element i has word(64 i) to
word(64 i + 63), and of these the uniform numbers u[j] = n / 2^53 with `n = floor((word(64 i + 2 j) + 2^32 word(64 i + 2 j + 1)) / 2^11)`.

For rate < 10 the output is the first k for which u[0] is below the sum of p[0] to p[k], or 99 if there is none, with
`p[0] = exp(-rate)` and `p[k] = p[k - 1] * (rate / k)`. Else it is that of the first of 16 attempts that is accepted, or floor(rate)
(Hörmann, 1993). Attempt t has `x = u[2 t] - 0.5`, `y = 1 - u[2 t + 1]` and

```
b = sqrt(rate) * 2.53 + 0.931
a = b * 0.02483 - 0.059
edge = 0.5 - |x|
k = floor((a * 2 / edge + b) * x + rate + 0.43)
height = log(y * (1.1328 / (b - 3.4) + 1.1239) / (a / (edge * edge) + b))
```

It gives max(k, 0), and is accepted where `edge >= 0.07` and `y <= 0.9277 - 3.6224 / (b - 2)`; or where k >= 0, not both `edge < 0.013` and
`y > edge`, and `height <= k * log(rate) - rate - lgamma(k + 1)`.

The output is rounded to float32, then to the type of the rate, unless that is float64. It is NaN unless 0 <= rate < inf.
*/

/*! philox_binomial
As `philox_poisson`, with n = floor(count), and q = `1 - prob` where prob > 0.5, else prob. What is drawn is k; the output is n - k where
prob > 0.5. For `n * q < 10`,

```
p[0] = exp(n * log1p(-q))
p[k] = p[k - 1] * (max(n - (k - 1), 0) / k * (q / (1 - q)))
```

Else an attempt has, with `mode = floor((n + 1) * q)`, which is what comes if none is accepted,

```
deviation = sqrt(n * q * (1 - q))
b = deviation * 2.53 + 1.15
a = b * 0.0248 - 0.0873 + q * 0.01
k = floor((a * 2 / edge + b) * x + (n * q + 0.5))
height = log(y * ((5.1 / b + 2.83) * deviation) / (a / (edge * edge) + b))
bound = lgamma(mode + 1) + lgamma(n - mode + 1) - (lgamma(k + 1) + lgamma(n - k + 1)) + (k - mode) * log(q / (1 - q))
```

and is accepted where 0 <= k <= n and either `edge >= 0.07` and `y <= 0.92 - 4.2 / b`, or `height <= bound`. The output is NaN unless
0 <= count < inf and 0 <= prob <= 1.
*/

/*! philox_multinomial
Each row of the weights is divided by the largest of them, in double. Let s[j] be these n quotients, and weights above 0 be present.

Without replacement, with i the number of element j of the row in the tensor of weights, `score[j] = float32(s[j]) / e` with
`e = -log(open_unit(word(i)))`, every step rounded to float32, log correctly; -1 for what is not present. The indices are those of the
largest scores, in descending order, of equal ones the lowest index first.

With replacement, `w[j] = max(floor(s[j] * 2^b), 1)` with b = 62 less the number of binary digits of n, or 0 for what is not present. For
number i of the output, r = floor(m / 2^2) of the 64 bits `m = word(2 i) + 2^32 word(2 i + 1)`; the index is the first j for which
floor(r * total / 2^62) lies below w[0] + … + w[j], all in integers, total being the sum of w.
*/

/*! philox_randperm
The integers from 0 to n - 1 in the order of the numbers `word(2 i) + 2^32 word(2 i + 1)`, those of equal numbers in their own order.
*/

namespace repdl {

// Each fills a tensor of any strides, whose elements must not overlap. Element i is number offset + i of the stream of
// (seed, call), in row-major order. Integers are int64; other numbers float32, bfloat16 or float16, of `philox_uniform` float64 too.

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

Specs InferPhiloxLogNormal(const InOut& tensor, int64_t seed, int64_t call, double mean, double std, int64_t offset);
void PhiloxLogNormal(InOut tensor, int64_t seed, int64_t call, double mean, double std, int64_t offset);

Specs InferPhiloxCauchy(const InOut& tensor, int64_t seed, int64_t call, double median, double sigma, int64_t offset);
void PhiloxCauchy(InOut tensor, int64_t seed, int64_t call, double median, double sigma, int64_t offset);

Specs InferPhiloxGeometric(const InOut& tensor, int64_t seed, int64_t call, double p, std::optional<double> highest,
                           int64_t offset);
void PhiloxGeometric(InOut tensor, int64_t seed, int64_t call, double p, std::optional<double> highest, int64_t offset);

/// Element i is number offset + i of the stream of (seed, call), in row-major order.
Specs InferPhiloxGamma(const TensorView& alpha, int64_t seed, int64_t call, int64_t offset);
void PhiloxGamma(const TensorView& alpha, int64_t seed, int64_t call, int64_t offset, Out output);

// Element i is number offset + i of the stream of (seed, call), in row-major order.

Specs InferPhiloxPoisson(const TensorView& rate, int64_t seed, int64_t call, int64_t offset);
void PhiloxPoisson(const TensorView& rate, int64_t seed, int64_t call, int64_t offset, Out output);

/// count and prob broadcast, and have one dtype.
Specs InferPhiloxBinomial(const TensorView& count, const TensorView& prob, int64_t seed, int64_t call, int64_t offset);
void PhiloxBinomial(const TensorView& count, const TensorView& prob, int64_t seed, int64_t call, int64_t offset,
                    Out output);

/// weights: (n) or (m, n); indices of the same rank, int64. Rows are numbered from that of `offset`: number 0 of the
/// tensor of weights, or of the output where there is replacement, is number `offset` of the stream. ValueError for weights
/// that are negative or not finite, and for rows of which too few are above 0.
Specs InferPhiloxMultinomial(const TensorView& weights, int64_t num_samples, bool replacement, int64_t seed,
                             int64_t call, int64_t offset);
void PhiloxMultinomial(const TensorView& weights, int64_t num_samples, bool replacement, int64_t seed, int64_t call,
                       int64_t offset, Out output);

/// Fills a tensor (n).
Specs InferPhiloxRandperm(const InOut& tensor, int64_t seed, int64_t call);
void PhiloxRandperm(InOut tensor, int64_t seed, int64_t call);

}  // namespace repdl

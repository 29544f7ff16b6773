// SPDX-License-Identifier: MIT
#pragma once

#include "repdl/op.h"

/*! fft_c2c
The discrete Fourier transform along each dimension of `dim`, from the last named to the first. Complex numbers are
pairs in a last dimension of size 2, which `dim` does not count. Their product is `(a + bi)(c + di) = (ac - bd) + (bc
+ ad)i`, their sums and products with real numbers are those of the parts, and every step rounds once.

`w(n)^j = cos(2πj/n) - i sin(2πj/n)`, each part correctly rounded to float64, then to the type, and +0 where it is
zero. The factors p of n are 4 as often as it divides what is left, then 2, then odd primes ascending. From the
transforms `A[k, t]` of length l, of every (n / l)-th number from the t-th on, each factor makes those of length lp,
`B[k + jl, t]` for j < p, with `a[q] = A[k, t + q n/(lp)] * w(lp)^(qk)`, a product that is left out where l = 1 or q =
0:

- p = 2: `a[0] + a[1]` and `a[0] - a[1]`.
- p = 4: with `e = a[0] + a[2]`, `o = a[1] + a[3]`, `f = a[0] - a[2]` and `g = -i (a[1] - a[3])`, whose parts are `Im
  a[1] - Im a[3]` and `Re a[3] - Re a[1]`: `e + o`, `f + g`, `e - o`, `f - g`.
- p odd: with `s = a[q] + a[p - q]` and `d = a[q] - a[p - q]` for 0 < q < p/2 ascending, `B[k, t]` is a[0] plus each
  s; and for 0 < j < p/2 it is `E - i O` of j and `E + i O` of p - j, where E is a[0] plus each `cos(2πjq/p) * s`, and
  O is the sum of each `sin(2πjq/p) * d`. The cosines and sines are rounded as w is.

If n has a prime factor above 31, it is a convolution (Bluestein's). With `u[k] = w(2n)^(k²)`, and L the least 2ᵏ,
3·2ᵏ or 5·2ᵏ that is at least 2n - 1: the numbers times u, followed by zeros to the length L, are transformed,
multiplied by V, transformed back, and the first n multiplied by u. V is computed in float64, and rounded to the type:
the conjugates of u[k] at k and at L - k, elsewhere 0, are transformed, and divided by L.

If not `forward`, real and imaginary parts are exchanged before and after. Last, each result is divided by d, if
`normalization` is 1 by sqrt(d) rounded to float64, where d is the product of all transformed lengths; both are
rounded to the type, and 0 divides nothing.
*/

/*! fft_r2c
The first n/2 + 1 numbers, rounded down, of the discrete Fourier transform of real numbers along the last dimension of
`dim`; then along the others as fft_c2c does, and the division. Of an odd n the imaginary parts are +0. Of an even n,
Z is the transform of the n/2 numbers `x[2k] + i x[2k + 1]`, Z'[k] the conjugate of Z[n/2 - k], `Z[n/2] = Z[0]`, and
the result is `((Z[k] + Z'[k]) + r[k] (Z[k] - Z'[k])) * 0.5`, where r[k] is -i w(n)^k, its zeros +0. If not
`onesided`, the others follow: element -k of the transformed dimensions is the conjugate of element k.
*/

/*! fft_c2r
The inverse transform to `last_dim_size` = n real numbers: along all but the last dimension of `dim` as fft_c2c does,
division by their lengths' product included, then along the last one, divided by n, or sqrt(n). The imaginary part of
number 0, and of an even n of number n/2, counts as +0. Of an odd n it is the real part of the inverse transform of
x[k] for k <= n/2 and of their conjugates at n - k. Of an even n, `Z[k] = (X[k] + X'[k]) + r'[k] (X[k] - X'[k])` for k
< n/2, with X'[k] the conjugate of X[n/2 - k] and r' that of r of fft_r2c; the inverse transform of Z has the results
of even places as real parts, the others as imaginary ones.
*/

namespace repdl {

/// input and output: (…, 2). `normalization` is 0 for none, 1 for the root of the number of terms, 2 for the number.
Specs InferFftC2c(const TensorView& input, const IntList& dim, int64_t normalization, bool forward);
void FftC2c(const TensorView& input, const IntList& dim, int64_t normalization, bool forward, Out output);

/// output: (…, 2), and in the last dimension of `dim` n / 2 + 1 numbers if `onesided`.
Specs InferFftR2c(const TensorView& input, const IntList& dim, int64_t normalization, bool onesided);
void FftR2c(const TensorView& input, const IntList& dim, int64_t normalization, bool onesided, Out output);

/// input: (…, 2), of last_dim_size / 2 + 1 numbers in the last dimension of `dim`.
Specs InferFftC2r(const TensorView& input, const IntList& dim, int64_t normalization, int64_t last_dim_size);
void FftC2r(const TensorView& input, const IntList& dim, int64_t normalization, int64_t last_dim_size, Out output);

}  // namespace repdl

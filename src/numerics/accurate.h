// SPDX-License-Identifier: MIT
// Functions of doubles, correctly rounded from about 150 bits, one number at a time: what the lane files take where
// their quick step leaves a result undecided. On the host they are compiled once, for every target; in CUDA, in each
// kernel.
#pragma once

#if defined(__CUDA_ARCH__)
#define REPDL_ACCURATE __host__ __device__ __noinline__ inline
#elif defined(__CUDACC__)
#define REPDL_ACCURATE __host__ __device__ inline
#else
#define REPDL_ACCURATE
#endif

namespace repdl::accurate {
#if defined(__CUDACC__)
inline namespace in_kernels {  // not the host's functions
#endif

REPDL_ACCURATE double Acos(double x);
REPDL_ACCURATE double Asin(double x);
REPDL_ACCURATE double Atan(double x);
REPDL_ACCURATE double Atan2(double y, double x);
REPDL_ACCURATE double Cbrt(double x);
REPDL_ACCURATE double Cos(double x);
REPDL_ACCURATE double CosPi(double x);
REPDL_ACCURATE double Erf(double x);
REPDL_ACCURATE double Erfc(double x);
REPDL_ACCURATE double Erfinv(double x);
REPDL_ACCURATE double Gelu(double x);
REPDL_ACCURATE double GeluDerivative(double x);
REPDL_ACCURATE double Hypot(double x, double y);
REPDL_ACCURATE double Rsqrt(double x);
REPDL_ACCURATE double Sin(double x);
REPDL_ACCURATE double SinPi(double x);
REPDL_ACCURATE double Tan(double x);

#if defined(__CUDACC__)
}  // namespace in_kernels
#endif
}  // namespace repdl::accurate

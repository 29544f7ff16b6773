// SPDX-License-Identifier: MIT
// The accurate steps of the special functions: see accurate.h.
#pragma once

#include "numerics/accurate.h"

namespace repdl::accurate {
#if defined(__CUDACC__)
inline namespace in_kernels {
#endif

REPDL_ACCURATE double AiryAi(double x);
REPDL_ACCURATE double AiryAiToOdd(double x);
REPDL_ACCURATE double BesselJ0(double x);
REPDL_ACCURATE double BesselJ1(double x);
REPDL_ACCURATE double BesselY0(double x);
REPDL_ACCURATE double BesselY1(double x);
REPDL_ACCURATE double Digamma(double x);
REPDL_ACCURATE double Erfcx(double x);
REPDL_ACCURATE double I0(double x);
REPDL_ACCURATE double I0e(double x);
REPDL_ACCURATE double I1(double x);
REPDL_ACCURATE double I1e(double x);
REPDL_ACCURATE double Lgamma(double x);
REPDL_ACCURATE double LogNdtr(double x);
REPDL_ACCURATE double ModifiedBesselK0(double x);
REPDL_ACCURATE double ModifiedBesselK1(double x);
REPDL_ACCURATE double Ndtri(double p);
REPDL_ACCURATE double ScaledModifiedBesselK0(double x);
REPDL_ACCURATE double ScaledModifiedBesselK1(double x);
REPDL_ACCURATE double SphericalBesselJ0(double x);
REPDL_ACCURATE double Trigamma(double x);

#if defined(__CUDACC__)
}  // namespace in_kernels
#endif
}  // namespace repdl::accurate

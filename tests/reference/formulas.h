// SPDX-License-Identifier: MIT
#pragma once

#include "real.h"

// The functions that MPFR does not have. Their operands are never NaN. Each is good to more than 100 bits; where a
// formula says inf * 0 or inf - inf, the value is the limit.

namespace repdl::reference {

Real AiryAi(const Real& x);
Real Elu(const Real& x);
Real Entr(const Real& x);
Real Erfcx(const Real& x);
Real Erfinv(const Real& x);
Real Gelu(const Real& x);
Real GeluTanh(const Real& x);
Real I0(const Real& x);
Real I0e(const Real& x);
Real I1(const Real& x);
Real I1e(const Real& x);
Real LogNdtr(const Real& x);
Real Logit(const Real& x);
Real LogSigmoid(const Real& x);
Real Mish(const Real& x);
Real ModifiedBesselK0(const Real& x);
Real ModifiedBesselK1(const Real& x);
Real Ndtri(const Real& p);
Real Reciprocal(const Real& x);
Real Rsqrt(const Real& x);
Real ScaledModifiedBesselK0(const Real& x);
Real ScaledModifiedBesselK1(const Real& x);
Real Selu(const Real& x);
Real Sigmoid(const Real& x);
Real Silu(const Real& x);
Real Sinc(const Real& x);
Real Softplus(const Real& x);
Real Softsign(const Real& x);
Real SphericalBesselJ0(const Real& x);
Real Trigamma(const Real& x);

Real EluDerivative(const Real& x);
Real GeluDerivative(const Real& x);
Real GeluTanhDerivative(const Real& x);
Real LogSigmoidDerivative(const Real& x);
Real MishDerivative(const Real& x);
Real SeluDerivative(const Real& x);
Real SiluDerivative(const Real& x);
Real SoftplusDerivative(const Real& x);
Real SoftsignDerivative(const Real& x);

Real LogAddExp(const Real& x, const Real& y);
Real LogAddExp2(const Real& x, const Real& y);
Real Polygamma(const Real& n, const Real& x);
Real Xlog1py(const Real& x, const Real& y);
Real Xlogy(const Real& x, const Real& y);
Real Zeta(const Real& s, const Real& q);

}  // namespace repdl::reference

// SPDX-License-Identifier: MIT
// What erfcx, log_ndtr and ndtri share: the scaled error function far from 0, for doubles, as a sum of two doubles. Constants
// from tools/coefficients/erf.py.

// sqrt(pi) y exp(y^2) erfc(y) as polynomials in 1 / y^2 - 37/2048, for y up to 11.3, and in 1 / y^2 - 1/256.
REPDL_TABLE(ErfcxFar, double, 36, 0x1.fb7eb8ba55cd4p-1, -0x1.e5fc66ea16d44p-2, 0x1.51c5894ca82a0p-1,
            -0x1.7b31fae86daddp+0, 0x1.212f8af59b121p+2, -0x1.1383a62278015p+4, 0x1.3812f401f6eedp+6,
            -0x1.96c92da8fe475p+8, 0x1.2a28e41df5affp+11, -0x1.e33c60ee4b9f6p+13, 0x1.ab4e2bfa33869p+16,
            -0x1.980b8c00a6afbp+19, 0x1.a146e9f999761p+22, -0x1.c5cfa4ea51a64p+25, 0x1.049f9a3a4c787p+29,
            -0x1.3b27070ca334ep+32, 0x1.a71d0c8691ba2p+35, -0x1.1b1d6b8f13f0ap+39, 0x1.ff017c4ce62cdp-1,
            -0x1.fa16193fd59e9p-2, 0x1.750c83c1f03aep-1, -0x1.c6db2974d5d2cp+0, 0x1.8154fe0f6f990p+2,
            -0x1.a09c6f95dc0c1p+4, 0x1.1141d61577bb9p+7, -0x1.a4953b506d1dcp+9, 0x1.72cd2662ecad8p+12,
            -0x1.6fe2adde5b4bap+15, 0x1.951545cf4859dp+18, -0x1.e995a167584b9p+21, 0x1.41d0a588fe5f9p+25,
            -0x1.c8be8c88974b0p+28, 0x1.5bacd27d3c63cp+32, -0x1.1a6018250674ep+36, 0x1.eec271997ff8bp+39,
            -0x1.c4eacd523deacp+43)
REPDL_TABLE(ErfcxFarLow, double, 8, -0x1.3a33eb93dc1afp-56, 0x1.f101be8d8bd8ep-57, -0x1.8a22325b9da9ap-59,
            -0x1.9b68578b6d102p-54, 0x1.19447d05eccd4p-55, 0x1.c1772078bd1dbp-56, 0x1.716050768f63fp-58,
            0x1.ce9189c5dff1ap-54)

/// Up to here erfc has its table.
constexpr double kFarErfcx = 6.0;

/// exp(y^2) erfc(y) for y from 5.95 to 2^500, within 2^-66 of it: 1 / (sqrt(pi) y) times a polynomial in 1 / y^2.
template <class D, class V>
REPDL_LANE_RARE Pair<V> FarErfcx(D d, Pair<V> y) {
  const Pair<V> inverse = Over(Pair<V>{Set(d, 1.0), Zero(d)}, y), square = Times(inverse, inverse);
  const auto farther = Le(V(square.high), Set(d, 0x1p-7));
  const Pair<V> t = Shifted(square, IfThenElse(farther, Set(d, -0x1p-8), Set(d, -0x1.28p-6)));
  const Pair<V> sum = FarSeries<4, 18>(d, ErfcxFar(), ErfcxFarLow(), farther, t);
  const Pair<V> inverse_root_pi = {Set(d, 0x1.20dd750429b6dp-1), Set(d, 0x1.1ae3a914fed80p-57)};
  return Times(Times(sum, inverse), inverse_root_pi);
}

// x with log(Phi(-x)) = -s^2 / 2 as polynomials in s - 10, for s up to 14.5, and in s - 26.75.
REPDL_TABLE(NdtriGuesses, double, 32, 0x1.35982b3175481p+3, 0x1.05dd0b67e47d9p+0, -0x1.e02a10fb631bcp-10,
            0x1.42f2ace8efa0bp-13, -0x1.be8f7677fe6a8p-17, 0x1.3a42ac008a1d1p-20, -0x1.bfefc5762a931p-24,
            0x1.4225679b017a8p-27, -0x1.d069bd669b096p-31, 0x1.525bc658bbf5ap-34, -0x1.0760f5cd1747ep-37,
            0x1.83e99abea2f11p-41, -0x1.53f747508413dp-45, 0x1.f324a48d2fec5p-49, -0x1.3f079f2315450p-50,
            0x1.dddff3c052aadp-54, 0x1.a97ad73d09205p+4, 0x1.0127581f5aafbp+0, -0x1.2bfcd2fd4a6c8p-13,
            0x1.3d139ad2af506p-18, -0x1.567ed483dd948p-23, 0x1.77242f9af798ap-28, -0x1.9f16de1d7de6cp-33,
            0x1.ce80409332f2fp-38, -0x1.01264a7247861p-42, 0x1.216e0a31a125dp-47, -0x1.63e3ee9ccb729p-52,
            0x1.93d06c9d5edebp-57, -0x1.c4b0ec464166ep-63, 0x1.ffdf9fd0c0d00p-68, -0x1.3d2e4517d46f3p-70,
            0x1.6b960b89b68b3p-75)

/// A guess of x with Phi(-x) = q, for 0 < q <= 1/2: within 2^-25 or so of it.
template <class D, class V>
REPDL_LANE_RARE V NdtriGuess(D d, V q) {
  const auto tiny = Lt(q, Set(d, 0x1p-24));
  const V inner =
      Mul(ErfinvGuess(d, Fma(Max(q, Set(d, 0x1p-24)), Set(d, -2.0), Set(d, 1.0))), Set(d, 0x1.6a09e667f3bcdp+0));
  if (!Any(d, tiny)) return inner;
  const V s = Sqrt(Mul(V(LogOfDouble<Pair<V>>(d, Min(q, Set(d, 0x1p-23))).high), Set(d, -2.0)));
  const auto second = Ge(s, Set(d, 14.5));
  const V t = Sub(s, IfThenElse(second, Set(d, 26.75), Set(d, 10.0)));
  const double* c = NdtriGuesses();
  V p = IfThenElse(second, Set(d, c[31]), Set(d, c[15]));
  for (int k = 14; k >= 0; --k) p = Fma(p, t, IfThenElse(second, Set(d, c[16 + k]), Set(d, c[k])));
  return IfThenElse(tiny, p, inner);
}

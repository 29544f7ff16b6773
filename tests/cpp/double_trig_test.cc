// SPDX-License-Identifier: MIT
// Trigonometric functions, roots, error functions and special functions of doubles against MPFR, on every CPU target and
// for one number. REPDL_DOUBLE_CASES is the number of random inputs for each function, REPDL_DOUBLE_SEED chooses others,
// REPDL_DOUBLE_INPUTS names a folder of more hard cases.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "cpp/double_against_reference.h"
#include "numerics/accurate_composite.h"
#include "numerics/accurate_special.h"

namespace repdl {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

const DoubleRow kRows[] = {
#define DOUBLE_UNARY(op, Name) {#op, DoubleFunction::k##Name, false},
#define DOUBLE_BINARY(op, Name) {#op, DoubleFunction::k##Name, true},
#include "cpp/double_trig.def"
#undef DOUBLE_UNARY
#undef DOUBLE_BINARY
};

/// The accurate steps are the functions, too.
double Accurate(DoubleFunction function, double x, double y) {
  switch (function) {
#define DOUBLE_UNARY(op, Name) \
  case DoubleFunction::k##Name: return accurate::Name(x);
#define DOUBLE_BINARY(op, Name) \
  case DoubleFunction::k##Name: return accurate::Name(x, y);
#include "cpp/double_trig.def"
#undef DOUBLE_UNARY
#undef DOUBLE_BINARY
    default: return 0;
  }
}

double RandomOperand(std::mt19937_64& random) {
  switch (random() % 10) {
    case 0: return AnyBits(random);
    case 1: return OfExponents(random, -1074, -1000);
    case 2: return OfExponents(random, -60, 10);
    case 3: return OfExponents(random, -30, 1);
    case 4: return 1 + OfExponents(random, -53, -1);
    case 5: return OfExponents(random, -10, 30);
    case 6: return std::round(OfExponents(random, 0, 40)) * (std::acos(-1.0) / 2);  // near zeros of sin and cos
    case 7: return Uniform(random, -40, 40);
    default: return OfExponents(random, -5, 3);
  }
}

/// Pairs of any quotient, of similar size, and triangles of integers, whose hypotenuse may be a midpoint.
void RandomPair(std::mt19937_64& random, double& x, double& y) {
  x = RandomOperand(random);
  y = RandomOperand(random);
  switch (random() % 6) {
    case 0: y = x * OfExponents(random, -60, 60); break;
    case 1: y = x * OfExponents(random, -1074, -1000); break;
    case 2: {
      const auto m = static_cast<double>(random() % (1 << 27) + 1), n = static_cast<double>(random() % (1 << 26) + 1);
      const double scale = OfExponents(random, -100, 100) > 0 ? 1.0 : 0x1p-1074;
      x = std::abs(m * m - n * n) * scale;
      y = 2 * m * n * scale;
      break;
    }
    default: break;
  }
}

/// Whether the reference takes milliseconds for some arguments.
bool IsSlow(const std::string& op) {
  for (const char* part : {"airy", "bessel", "erfcx", "ndtr"}) {
    if (op.find(part) != std::string::npos) return true;
  }
  for (const char* slow : {"erfinv", "gelu", "gelu_grad", "i0", "i0e", "i1", "i1e", "lgamma", "digamma", "trigamma"}) {
    if (op == slow) return true;
  }
  return false;
}

/// Zeros, infinities, NaN, powers of two and of ten, simple fractions, limits with their neighbours; inputs whose results
/// are known to lie nearest to a midpoint, or which lie nearest to a multiple of pi / 2.
std::vector<double> Specials(int step) {
  std::vector<double> x = {0.0, kInfinity, std::nan(""), 0x1.fffffffffffffp-1023, 0x1.fffffffffffffp+1023};
  for (int e = -1074; e < 1024; e += step) x.push_back(std::ldexp(1.0, e));
  for (int i = 0; i < 1000; i += step) {
    x.insert(x.end(), {0.125 * i, i / 3.0, i * 0x1p-52, 1 - i * 0x1p-53, i * 0x1p-1074, i / 64.0, i / 128.0});
    x.insert(x.end(), {0x1p51 + 0.5 * i, 0x1p52 + i, static_cast<double>(i) * i * i});
  }
  for (int i = -330; i < 309; i += step) x.push_back(std::pow(10.0, i));
  const double limits[] = {
      0x1p-26, 0x1p-27, 0x1p-30, 0x1p26, 0x1p52, 0x1p53, 0x1p64, 0x1p-900, 0x1p990, 1.0,
      // Where erfc, gelu and their like become subnormal or 0, 1 and 2.
      0x1.b39dc41e48bfdp+4, 26.543258454250983, 27.226017111108366, 5.921587195794507, 5.863584748755168, 6.0, 6.5,
      37.51937935, 38.46739, 8.485281374238571, 8.2923611, 9.0, 40.0, 3.5, 0.7517915246935645,
      // sin, cos and tan: the double nearest to a multiple of pi / 2, and others hard to reduce.
      6381956970095103 * 0x1p797, 0x1.6ac5b262ca1ffp+849, 0x1p1023, 1e22, 0x1.921fb54442d18p+0, 0x1.921fb54442d18p+1,
      // Among the hardest to round: acos, asin, atan, cbrt, cos, cospi, erf, erfc, rsqrt, sin, sinpi, tan.
      0x1.53ea6c7255e88p-4, 0x1.cf37d41c69889p-24, 0x1.2c759e3848cc8p-13, 0x1.ae48c77beb466p-13, 0x1.c373ff4aad79bp-14,
      0x1.a4816b2066707p-5, 0x1.7137449123ef6p-26, 0x1.522bffce02485p-19, 0x1.6298b5896ed3cp+1, 0x1.22e8d75e2bc7fp-11,
      0x1.ccda26ad0cd1cp+47, 0x1.3e450e3933b22p+7, 0x1.9b78223aa307cp+1, 0x1.a202bfc89ddffp-1, 0x1.00357fdfa5412p+0,
      0x1.05b93f3e0caf9p+0, 0x1.34ec2f9fc9c00p+1, 0x1.6b8a6273d7c21p+0, 0x1.16e534ee36580p-4, 0x1.37b1311fb4936p-22,
      0x1.8242846e3d0afp-24, 0x1.f3beb28414801p-10, 0x1.f9a45ce01134fp-20, 0x1.e4dee8168d6bp-5, 0x1.51f3182edb17ap-36,
      0x1.52b76545cc8efp-6, 0x1.2759b6d41c68ep-29, 0x1.3a013a3c71e92p+0, 0x1.32cf39dceda5ap-16, 0x1.8bc46e0d85524p-9,
      0x1.c2117d7da5d67p-31, 0x1.544fa6d47b390p-52, 0x1.a6a9cc15abccep+0, 0x1.c562b857453ddp+1, 0x1.ffffffffffffep+1,
      0x0.fffffffffffffp-1022, 0x1.598bae9e632f6p-7, 0x1.1fa4f6c3eb138p+10, 0x1.1c63df63d59dp-2,
      0x1.021b4c18f7825p+1023, 0x1.f339ab57731d3p-50, 0x1.c36422fd2e52ap-2, 0x1.1e4dee8168d6bp-1, 0x1.ad53f8db92afp-34,
      0x1.dffffffffff1fp-22, 0x1.67fffffffe845p-19, 0x1.50486b2f87014p-5, 0x1.ccaffe66878dbp+0,
      // digamma: zeros; lgamma: zeros below 0, where it overflows; both: where they change their ways.
      0x1.762d86356be3fp+0, -0.504083008264455, -1.573498473162391, -2.457024738220800, -2.747682646727413,
      -3.143580888349980, -3.955294284858598, 0x1.74c5de97bb95ep+1014, 2.5, 12.0,
      // Bessel functions: the first zeros of J and Y and some later ones; where they change their ways; where K is 0.
      2.404825557695773, 3.8317059702075125, 0.8935769662791675, 2.197141326031017, 5.520078110286311,
      14.930917708487787, 2.0, 8.0, 16.0, 36.0, 600.0, 705.3, 745.8, 0x1p-1024,
      // airy_ai: the first zeros and a late one; where it changes its ways, is subnormal and becomes 0.
      -2.338107410459767, -4.087949444130971, -5.520559828095551, -30.14565723, 2.125, -5.25, -14.5, -0x1p17, 92.0,
      103.88, 107.4, 110.0, -0x1p150,
      // erfcx, log_ndtr and ndtri: where they change their ways, overflow and underflow; tails.
      -26.5, -26.62873571375149, 8.4, 34.0, 38.5, -0x1p512, -0x1.6a09e667f3bcdp512, 0x1.8p-56, 0.25, 0.5, 0x1p-24,
      1e-300};
  for (const double limit : limits) {
    double below = limit, above = limit;
    for (int i = 0; i < (step == 1 ? 8 : 2); ++i) {
      x.insert(x.end(), {below, above});
      below = std::nextafter(below, -kInfinity), above = std::nextafter(above, kInfinity);
    }
  }
  for (size_t i = 0, size = x.size(); i < size; ++i) x.push_back(-x[i]);
  return x;
}

/// Triangles whose hypotenuse is half-way between two doubles, or almost.
void AddMidpointsOfHypot(std::mt19937_64& random, std::vector<double>& x, std::vector<double>& y) {
  for (int i = 0; i < 10000; ++i) {
    // (k^2 - j^2)^2 + (2 k j)^2 = (k^2 + j^2)^2, of 54 bits and odd; k^2 - j^2 has no more than 53, since j is near k.
    const auto k = static_cast<double>((uint64_t{1} << 26) + random() % (1 << 25));
    const double j = k - 1 - 2.0 * static_cast<double>(random() % 64);
    x.insert(x.end(), {2 * k * j, 2 * k * j});
    y.insert(y.end(), {k * k - j * j, k * k - j * j + static_cast<double>(random() % 3) - 1});
  }
}

class DoubleTrigFunctions : public DoubleAgainstReference {
 protected:
  void CheckMore(const std::vector<double>& x, const std::vector<double>& y,
                 const std::vector<double>& expected) override {
    std::vector<double> out(x.size());
    for (size_t i = 0; i < x.size(); ++i) out[i] = Accurate(GetParam().function, x[i], y[i]);
    Compare("the accurate step", x, y, out, expected);
  }
};

TEST_P(DoubleTrigFunctions, RoundSpecialValues) {
  const std::vector<double> all = Specials(IsSlow(GetParam().op) ? 100 : 1);
  if (GetParam().binary) {
    std::mt19937_64 random(1);
    std::vector<double> x, y;
    const double few[] = {
        0.0,    0x1p-1074, 0x1.fffffffffffffp-1023, 0x1p-1022, 0.5,         1.0, 1.0 + 0x1p-52, 1.5, 2.0, 3.0, 4.0,
        0x1p53, 0x1p970,   0x1.fffffffffffffp+1023, kInfinity, std::nan("")};
    for (const double a : few) {
      for (const double b : few) {
        for (int signs = 0; signs < 4; ++signs) x.push_back(signs % 2 ? -a : a), y.push_back(signs / 2 ? -b : b);
      }
    }
    for (int i = 0; i < 5000; ++i) x.push_back(all[random() % all.size()]), y.push_back(all[random() % all.size()]);
    // Among the hardest to round: of atan2 up to 2^-102 ulp from a midpoint, then of hypot.
    x.insert(x.end(), {0x1.07a11ffd843abp+53, 0x1.fdfe11f61919cp+74, 0x1.2981ce8381491p+52, 0x1.2d3d9a4b9aefap+70,
                       0x1.1732e04bf1488p-1, 0x1.9a4d68bfabb24p-1, 0x1.82e5c2faa9fdcp-1, 0x1.23810a4fe8244p-1});
    y.insert(y.end(), {0x1.f9982dddc9cccp+52, 0x1.53feb7b3de47bp+52, 0x1.4efd17defb8d1p+52, 0x1.4534432011dc4p+51,
                       0x1.0b590d18d9545p-27, 0x1.441841c2157f4p-27, 0x1.3ab7223afd2dbp-27, 0x1.112d03efd5b11p-27});
    if (GetParam().op == "hypot") AddMidpointsOfHypot(random, x, y);
    Check(x, y);
  } else {
    Check(all, std::vector<double>(all.size()));
  }
  EXPECT_EQ(wrong_, 0);
}

TEST_P(DoubleTrigFunctions, RoundHardCases) {
  CheckHardCases();
  EXPECT_EQ(wrong_, 0);
}

TEST_P(DoubleTrigFunctions, RoundRandomValues) {
  std::mt19937_64 random(static_cast<uint64_t>(CountOf("REPDL_DOUBLE_SEED", 1)));
  const long block = IsSlow(GetParam().op) ? 256 : 4096;
  for (long done = 0, count = CountOf("REPDL_DOUBLE_CASES", block); done < count; done += block) {
    std::vector<double> x(block), y(block);
    for (long i = 0; i < block; ++i) {
      if (GetParam().binary) {
        RandomPair(random, x[i], y[i]);
      } else {
        x[i] = RandomOperand(random);
      }
    }
    Check(x, y);
  }
  EXPECT_EQ(wrong_, 0);
}

INSTANTIATE_TEST_SUITE_P(All, DoubleTrigFunctions, ::testing::ValuesIn(kRows),
                         [](const auto& param) { return param.param.op; });

}  // namespace
}  // namespace repdl

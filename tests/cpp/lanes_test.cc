// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <vector>

#include "cpp/lanes_probe.h"
#include "cpp/on_target.h"
#include "numerics/functions_scalar.h"
#include "repdl/ops.h"
#include "repdl/target.h"

namespace repdl {
namespace {

class Lanes : public ::testing::TestWithParam<std::string> {
 protected:
  Lanes() { SetTarget(GetParam()); }

 private:
  testing::SettingsGivenBack settings_;  // made before the body of the constructor
};

bool SameBits(float a, float b) {
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) || (std::isnan(a) && std::isnan(b));
}

/// Operands for which an fma is hard: sums near a rounding boundary, subnormal results, cancellation, and any bits.
std::vector<float> HardOperands(std::mt19937_64& random, int kind, size_t n) {
  std::vector<float> x(n);
  for (float& value : x) {
    const auto bits = static_cast<uint32_t>(random());
    switch (kind) {
      case 0: value = std::bit_cast<float>(bits); break;                              // anything
      case 1: value = std::bit_cast<float>((bits & 0x807fffff) | 0x3f800000); break;  // [1, 2), +-
      case 2: value = std::bit_cast<float>((bits & 0x80ffffff) | 0x20000000); break;  // around 2^-63
      default:
        value = std::bit_cast<float>((bits & 0x80000007) | 0x3f800000 | (bits >> 8 & 0x3ff000));
        break;  // few bits
    }
  }
  return x;
}

void ExpectFmas(const std::vector<float>& a, const std::vector<float>& b, const std::vector<float>& c) {
  std::vector<float> out(a.size());
  ProbeFma(Place(), {a.data(), b.data(), c.data(), out.data(), static_cast<int64_t>(a.size())});
  int wrong = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!SameBits(out[i], std::fma(a[i], b[i], c[i])) && ++wrong < 5) {
      ADD_FAILURE() << std::hexfloat << "fma(" << a[i] << ", " << b[i] << ", " << c[i] << ") = " << out[i];
    }
  }
  EXPECT_EQ(wrong, 0);
}

TEST_P(Lanes, FmaRoundsOnce) {
  std::mt19937_64 random(1);
  constexpr size_t kCount = 100003;
  for (int kind = 0; kind < 4; ++kind) {
    const auto a = HardOperands(random, kind, kCount), b = HardOperands(random, kind, kCount);
    auto c = HardOperands(random, kind, kCount);
    for (size_t i = 0; i < kCount; i += 2) {
      // Near the negated product, or a half unit of it away.
      c[i] = i % 4 == 0 ? -(a[i] * b[i]) : a[i] * b[i] * 0x1p-24f;
    }
    ExpectFmas(a, b, c);
  }
}

/// The product is half a unit of the last place of c, or so near to it that a double does not tell: over all exponents, of
/// subnormal results too, and up to the limit where the sum overflows.
TEST_P(Lanes, FmaRoundsTiesOnce) {
  std::mt19937_64 random(3);
  constexpr float kUp = 1.0f + 0x1p-23f, kDown = 1.0f - 0x1p-23f;
  // Their products: 1, 1 - 2^-46, and 1.5 or so from below and above.
  constexpr float kNear[][2] = {{1.0f, 1.0f}, {kUp, kDown}, {1.5f, 1.0f}, {3.0f, kDown}, {3.0f, kUp}, {kUp, kUp}};
  std::vector<float> a, b, c;
  for (int exponent = -149; exponent <= 127; ++exponent) {
    const int unit = std::max(exponent - 23, -149);
    for (int i = 0; i < 16; ++i) {
      const auto fraction = static_cast<float>(i == 0 ? 0xffffff : i == 1 ? 0x800000 : random() % 0x1000000);
      const float term = std::ldexp(std::floor(std::ldexp(fraction, exponent - 23 - unit)), unit);
      for (const auto& [x, y] : kNear) {
        for (int half = unit - 2; half <= unit; ++half) {
          for (int signs = 0; signs < 4; ++signs) {
            a.push_back((signs & 1 ? -1.0f : 1.0f) * std::ldexp(x, half / 2));
            b.push_back(std::ldexp(y, half - half / 2));
            c.push_back(signs & 2 ? -term : term);
          }
        }
      }
    }
  }
  ExpectFmas(a, b, c);
}

/// All triples of numbers at the limits: zeros of both signs, subnormals, what overflows, infinities, NaN.
TEST_P(Lanes, FmaKeepsSpecialValues) {
  std::vector<float> special = {NAN};
  for (float x : {0.0f,
                  0x1p-149f,
                  0x3p-149f,
                  0x0.fffffep-126f,
                  0x1p-126f,
                  0x1.000002p-126f,
                  0x1p-75f,
                  0x1.000002p-75f,
                  0x1p-74f,
                  0x1.8p-63f,
                  0x1p-25f,
                  0x1p-24f,
                  0x1.fffffep-1f,
                  1.0f,
                  0x1.000002p+0f,
                  3.0f,
                  0x1p+52f,
                  0x1p+63f,
                  0x1.fffffep+63f,
                  0x1p+64f,
                  0x1p+103f,
                  0x1.fffffep+127f,
                  HUGE_VALF}) {
    special.push_back(x);
    special.push_back(-x);
  }
  std::vector<float> a, b, c;
  for (float x : special) {
    for (float y : special) {
      for (float z : special) a.push_back(x), b.push_back(y), c.push_back(z);
    }
  }
  ExpectFmas(a, b, c);
}

template <class T, class Probe>
void ExpectComparisonsOfC(const Probe& probe) {
  const T numbers[] = {T{0},
                       -T{0},
                       T{1},
                       T{-1},
                       std::numeric_limits<T>::denorm_min(),
                       std::numeric_limits<T>::infinity(),
                       -std::numeric_limits<T>::infinity(),
                       std::numeric_limits<T>::quiet_NaN()};
  std::vector<T> a, b;
  for (T x : numbers) {
    for (T y : numbers) a.push_back(x), b.push_back(y);
  }
  std::vector<T> out(a.size());
  probe(Place(), {a.data(), b.data(), out.data(), static_cast<int64_t>(a.size())});
  for (size_t i = 0; i < a.size(); ++i) {
    const T x = a[i], y = b[i];
    const bool is[] = {x == y, x != y, x<y, x <= y, x> y, x >= y, std::isnan(x)};
    int expected = 0;
    for (int bit = 0; bit < 7; ++bit) expected += is[bit] << bit;
    EXPECT_EQ(static_cast<int>(out[i]), expected) << x << " and " << y;
  }
}

TEST_P(Lanes, ComparisonsAreThoseOfC) {
  ExpectComparisonsOfC<float>(ProbeComparisons);
  ExpectComparisonsOfC<double>(ProbeComparisonsOfDoubles);
}

void ExpectDoubleFmas(const std::vector<double>& a, const std::vector<double>& b, const std::vector<double>& c) {
  std::vector<double> out(a.size());
  ProbeFmaDouble(Place(), {a.data(), b.data(), c.data(), out.data(), static_cast<int64_t>(a.size())});
  int wrong = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double expected = std::fma(a[i], b[i], c[i]);
    const bool same = std::bit_cast<uint64_t>(out[i]) == std::bit_cast<uint64_t>(expected);
    if (!same && !(std::isnan(out[i]) && std::isnan(expected)) && ++wrong < 5) {
      ADD_FAILURE() << std::hexfloat << "fma(" << a[i] << ", " << b[i] << ", " << c[i] << ") = " << out[i];
    }
  }
  EXPECT_EQ(wrong, 0);
}

/// Products of every size, with a sum that cancels, ties, lies far away, is subnormal or nearly overflows.
TEST_P(Lanes, DoubleFmaRoundsOnce) {
  std::mt19937_64 random(2);
  constexpr int kExponents[][2] = {{-30, 30}, {-1074, 1023}, {-560, -480}, {480, 515}};
  std::vector<double> a, b, c;
  for (const auto& [lowest, highest] : kExponents) {
    for (int i = 0; i < 100000; ++i) {
      // A third of the fractions have few bits: their products tie.
      const auto any = [&, low = lowest, high = highest] {
        const uint64_t fraction = random() >> (i % 3 == 0 ? 12 : 0) & (i % 3 == 0 ? ~uint64_t{0} : 0x000ffffff0000000);
        const double x = 1.0 + static_cast<double>(fraction & 0xfffffffffffff) * 0x1p-52;
        const int exponent = low + static_cast<int>(random() % static_cast<uint64_t>(high - low + 1));
        return std::ldexp(random() % 2 == 0 ? x : -x, exponent);
      };
      a.push_back(any());
      b.push_back(any());
      const double product = a.back() * b.back();
      const int shift = 53 - static_cast<int>(random() % 107);
      const int size = std::isfinite(product) && product != 0 ? std::ilogb(product) : 0;
      const double terms[] = {any(), -product, std::ldexp(product, shift), std::ldexp(-product, -53),
                              std::copysign(std::ldexp(1.0, size + shift), any())};
      c.push_back(terms[random() % 5]);
    }
  }
  ExpectDoubleFmas(a, b, c);
}

/// All triples of numbers at the limits.
TEST_P(Lanes, DoubleFmaKeepsSpecialValues) {
  std::vector<double> special = {NAN};
  for (double x : {0.0,
                   0x1p-1074,
                   0x3p-1074,
                   0x0.fffffffffffffp-1022,
                   0x1p-1022,
                   0x1.0000000000001p-1022,
                   0x1p-960,
                   0x1.0000000000001p-537,
                   0x1p-512,
                   0x1p-480,
                   0x1p-53,
                   0x1.fffffffffffffp-1,
                   1.0,
                   0x1.0000000000001p+0,
                   3.0,
                   0x1p+53,
                   0x1.fffffffffffffp+511,
                   0x1p+512,
                   0x1p+990,
                   0x1p+1000,
                   0x1.fffffffffffffp+1023,
                   HUGE_VAL}) {
    special.push_back(x);
    special.push_back(-x);
  }
  std::vector<double> a, b, c;
  for (double x : special) {
    for (double y : special) {
      for (double z : special) a.push_back(x), b.push_back(y), c.push_back(z);
    }
  }
  ExpectDoubleFmas(a, b, c);
}

/// The lane files in the words for one number, which CUDA kernels use: the bits of every target.
TEST_P(Lanes, WordsForOneNumberAgree) {
  constexpr int64_t kStride = 8209;  // a prime
  constexpr int64_t kCount = (int64_t{1} << 32) / kStride;
  std::vector<float> x(kCount), y(kCount);
  for (int64_t i = 0; i < kCount; ++i) x[i] = std::bit_cast<float>(static_cast<uint32_t>(i * kStride));
  const auto expect_same = [&](const char* name, auto op, auto words) {
    op(MakeView(x.data(), {kCount}), MakeView(y.data(), {kCount}));
    int wrong = 0;
    for (int64_t i = 0; i < kCount; ++i) {
      if (!SameBits(words(x[i]), y[i]) && ++wrong < 5) {
        ADD_FAILURE() << std::hexfloat << name << '(' << x[i] << ") = " << y[i] << ", words: " << words(x[i]);
      }
    }
    EXPECT_EQ(wrong, 0) << name;
  };
  expect_same("exp", Exp, scalar::Exp<float>);
  expect_same("log", Log, scalar::Log<float>);
  expect_same("relu", Relu, scalar::Relu<float>);
  expect_same("sqrt", Sqrt, [](float v) { return scalar::Sqrt(v); });
}

INSTANTIATE_TEST_SUITE_P(Targets, Lanes, ::testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (std::string_view target : SupportedTargets()) names.emplace_back(target);
                           return names;
                         }()),
                         [](const auto& param) { return param.param; });

TEST(Targets, AreReallyDispatchedTo) {
  const std::string saved(ActiveTarget());
  std::set<int64_t> highway_targets;
  for (std::string_view target : SupportedTargets()) {
    SetTarget(target);
    int64_t lanes = 0, highway_target = 0;
    ProbeTarget(Place(), {&lanes, &highway_target});
    EXPECT_TRUE(highway_targets.insert(highway_target).second) << target << " is another target, too";
    EXPECT_EQ(lanes == 1, target == "scalar");
  }
  SetTarget(saved);
}

}  // namespace
}  // namespace repdl

// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <set>
#include <vector>

#include "cpp/lanes_probe.h"
#include "numerics/functions_scalar.h"
#include "repdl/ops.h"
#include "repdl/target.h"

namespace repdl {
namespace {

class Lanes : public ::testing::TestWithParam<std::string> {
 protected:
  Lanes() { SetTarget(GetParam()); }
  ~Lanes() override { SetTarget(saved_); }

 private:
  std::string_view saved_ = ActiveTarget();
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
    std::vector<float> out(kCount);
    ProbeFma({a.data(), b.data(), c.data(), out.data(), kCount});
    int wrong = 0;
    for (size_t i = 0; i < kCount; ++i) {
      if (!SameBits(out[i], std::fma(a[i], b[i], c[i])) && ++wrong < 5) {
        ADD_FAILURE() << std::hexfloat << "fma(" << a[i] << ", " << b[i] << ", " << c[i] << ") = " << out[i];
      }
    }
    EXPECT_EQ(wrong, 0);
  }
}

TEST_P(Lanes, DoubleFmaRoundsOnceAwayFromTheLimits) {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> exponent(-30, 30);
  constexpr size_t kCount = 100000;
  std::vector<double> a(kCount), b(kCount), c(kCount), out(kCount);
  const auto any = [&] {
    return std::ldexp(1.0 + static_cast<double>(random() >> 12) * 0x1p-52, static_cast<int>(exponent(random)));
  };
  for (size_t i = 0; i < kCount; ++i) {
    a[i] = any(), b[i] = -any();
    c[i] = i % 3 == 0 ? -(a[i] * b[i]) : i % 3 == 1 ? a[i] * b[i] * 0x1p-53 : any();
  }
  ProbeFmaDouble({a.data(), b.data(), c.data(), out.data(), kCount});
  for (size_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(out[i], std::fma(a[i], b[i], c[i])) << std::hexfloat << a[i] << ' ' << b[i] << ' ' << c[i];
  }
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
    ProbeTarget({&lanes, &highway_target});
    EXPECT_TRUE(highway_targets.insert(highway_target).second) << target << " is another target, too";
    EXPECT_EQ(lanes == 1, target == "scalar");
  }
  SetTarget(saved);
}

}  // namespace
}  // namespace repdl

// SPDX-License-Identifier: MIT
#include "repdl/c_math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cerrno>
#include <cfenv>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "cpp/on_target.h"
#include "repdl/op.h"
#include "repdl/target.h"

namespace repdl {
namespace {

const double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

constexpr int kRoundings[] = {
    FE_TONEAREST,
#if defined(FE_UPWARD)
    FE_UPWARD,
#endif
};

/// Special numbers, ends of domains, overflow and underflow, huge angles, and ordinary ones of which some are hard to round.
std::vector<double> Numbers() {
  std::vector<double> numbers;
  for (double x : {0.0,
                   0x1p-1074,
                   0x1.8p-1023,
                   0x1p-1022,
                   1e-300,
                   1e-20,
                   0.25,
                   0.5,
                   0.75,
                   1.0 - 0x1p-53,
                   1.0,
                   1.0 + 0x1p-52,
                   1.5,
                   2.0,
                   3.0,
                   10.0,
                   27.3,
                   36.8,
                   700.0,
                   709.78,
                   709.79,
                   710.5,
                   745.1,
                   745.2,
                   1074.0,
                   0x1p26,
                   1e9,
                   0x1p53,
                   1e22,
                   1e300,
                   0x1.fffffffffffffp+1023,
                   kInf,
                   kNan}) {
    numbers.push_back(x);
    numbers.push_back(-x);
  }
  for (int i = 1; i < 300; ++i) numbers.push_back(0.043 * i - 6.4);
  return numbers;
}

bool TakesTwo(const CFunction& function) {
  const std::string_view name = function.name;
  return name == "atan2" || name == "hypot" || name == "pow";
}

double CallOfOne(const CFunction& function, double x) {
  if (function.name != std::string_view("sincos")) return reinterpret_cast<double (*)(double)>(function.address)(x);
  double sine, cosine;
  reinterpret_cast<void (*)(double, double*, double*)>(function.address)(x, &sine, &cosine);
  return sine + 2 * cosine;
}

double Call(const CFunction& function, double x, double y) {
  if (!TakesTwo(function)) return CallOfOne(function, x);
  return reinterpret_cast<double (*)(double, double)>(function.address)(x, y);
}

std::vector<double> ByOp(std::string_view op, std::vector<double> x, std::vector<double> y) {
  std::vector<double> results(x.size());
  const auto n = static_cast<int64_t>(x.size());
  std::vector<Value> args{MakeView(x.data(), DType::kFloat64, {n})};
  if (!y.empty()) args.emplace_back(MakeView(y.data(), DType::kFloat64, {n}));
  std::vector<TensorView> outputs{MakeView(results.data(), DType::kFloat64, {n})};
  FindOp(op)->run(args, outputs);
  return results;
}

bool SameBits(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

class CMath : public testing::OnTarget {};

TEST_P(CMath, FunctionsAreTheOpsInAnyMode) {
  std::vector<double> x, y;
  for (double a : Numbers()) {
    for (double b : Numbers()) x.push_back(a), y.push_back(b);
  }
  const std::vector<double> alone = Numbers();
  for (const CFunction& function : CFunctions()) {
    const std::string_view name = function.name;
    if (name == "sincos") continue;
    const bool two = TakesTwo(function);
    const std::vector<double> expected = two ? ByOp(name, x, y) : ByOp(name, alone, {});
    for (const int rounding : kRoundings) {
      for (size_t i = 0; i < expected.size(); ++i) {
        std::fesetround(rounding);
        const double result = two ? Call(function, x[i], y[i]) : CallOfOne(function, alone[i]);
        const int after = std::fegetround();
        std::fesetround(FE_TONEAREST);
        ASSERT_EQ(after, rounding);
        ASSERT_TRUE(SameBits(result, expected[i]))
            << name << " " << (two ? x[i] : alone[i]) << " " << y[i] << " " << result;
      }
    }
  }
}

TEST_P(CMath, ErrnoIsThatOfC) {
  struct {
    std::string_view name;
    double x, y;
    int error;
  } const cases[] = {
      {"acos", 1.5, 0, EDOM},     {"acosh", 0.5, 0, EDOM},    {"asin", -1.5, 0, EDOM},
      {"atanh", 1.5, 0, EDOM},    {"atanh", -1, 0, ERANGE},   {"cos", kInf, 0, EDOM},
      {"sin", -kInf, 0, EDOM},    {"sincos", kInf, 0, EDOM},  {"tan", kInf, 0, EDOM},
      {"cosh", 1e3, 0, ERANGE},   {"sinh", -1e3, 0, ERANGE},  {"exp", 1e3, 0, ERANGE},
      {"exp2", 1024, 0, ERANGE},  {"expm1", 1e3, 0, ERANGE},  {"log", 0, 0, ERANGE},
      {"log", -1, 0, EDOM},       {"log10", -0.0, 0, ERANGE}, {"log2", -kInf, 0, EDOM},
      {"log1p", -1, 0, ERANGE},   {"log1p", -2, 0, EDOM},     {"pow", 0, -1, ERANGE},
      {"pow", -8, 1.0 / 3, EDOM}, {"pow", 1e200, 2, ERANGE},  {"hypot", 1e308, 1.7e308, ERANGE},
      {"exp", kInf, 0, 0},        {"exp", -1e3, 0, 0},        {"log", kInf, 0, 0},
      {"pow", kInf, 0.5, 0},      {"pow", 1e-200, 2, 0},      {"pow", kNan, 1, 0},
      {"acos", kNan, 0, 0},       {"hypot", kInf, kNan, 0},   {"atan2", -0.0, -0.0, 0},
      {"cbrt", -kInf, 0, 0},      {"erf", kNan, 0, 0},        {"cosh", -kInf, 0, 0},
  };
  for (const auto& c : cases) {
    for (const CFunction& function : CFunctions()) {
      if (c.name != function.name) continue;
      errno = 0;
      Call(function, c.x, c.y);
      EXPECT_EQ(errno, c.error) << c.name << " " << c.x << " " << c.y;
      errno = EINTR;  // what is no error leaves it alone
      Call(function, c.x, c.y);
      EXPECT_EQ(errno, c.error == 0 ? EINTR : c.error) << c.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, CMath, ::testing::ValuesIn(SupportedTargets()), testing::NameOfTarget);

}  // namespace
}  // namespace repdl

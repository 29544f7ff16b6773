// SPDX-License-Identifier: MIT
// Random doubles against polynomials through MPFR's values, as `repdl prove --dtype float64` tries them by the thousand million;
// and that these polynomials, and what compares with them, find what is wrong.
#include <gtest/gtest.h>
#include <mpfr.h>

#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cpp/double_against_reference.h"
#include "reference/interval.h"
#include "reference/random.h"
#include "reference/random_doubles.h"
#include "repdl/op.h"
#include "repdl/target.h"

namespace repdl {
namespace {

using reference::FindFunction;
using reference::Function;
using reference::Interval;
using reference::PiecePolynomial;
using reference::Random;
using reference::RandomDoubles;
using reference::RandomResults;

using Doubles = std::vector<double>;

constexpr RandomDoubles kFew = {.seed = 1, .inputs = 100'000, .an_interval = 1024};

/// The op on the active target.
reference::ComputeDoubles ByOp(const Function& function) {
  const DoubleRow row = {std::string(function.name), {}, function.kind == Function::Kind::kBinary};
  return [row](const Doubles& x, const Doubles& y, Doubles& out) { ComputeByOp(row, x, y, out); };
}

RandomResults Try(const Function& function, const RandomDoubles& tried, const reference::ComputeDoubles& compute) {
  return reference::TryRandomDoubles(
      function, tried, {compute}, [](size_t, double, double, double, double) {}, [](int64_t) {});
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const Function& function : reference::Functions()) {
    if (reference::HasRandomDoubles(function)) names.emplace_back(function.name);
  }
  return names;
}

class RandomDoublesOf : public ::testing::TestWithParam<std::string> {};

TEST_P(RandomDoublesOf, AreRoundedOnce) {
  const Function& function = *FindFunction(GetParam());
  RandomDoubles tried = kFew;
  if (function.is_formula || GetParam() == "erfc") tried.an_interval = 8192;  // whose values take longer
  const RandomResults results = reference::TryRandomDoubles(
      function, tried, {ByOp(function)},
      [](size_t, double x, double y, double got, double expected) {
        ADD_FAILURE() << std::hexfloat << GetParam() << "(" << x << ", " << y << ") = " << got << ", not " << expected;
      },
      [](int64_t) {});
  EXPECT_EQ(results.wrong[0], 0);
  EXPECT_EQ(results.bad, 0);
  EXPECT_GE(results.inputs, kFew.inputs);
  EXPECT_LT(results.inputs, tried.inputs + 16 * tried.an_interval);
  // Nearly all by polynomials, of which ties of exact results are left to MPFR.
  EXPECT_LT(results.by_mpfr, results.inputs / 20);
  EXPECT_LT(results.undecided, 10);
  EXPECT_GT(results.checked, 20);
}

INSTANTIATE_TEST_SUITE_P(All, RandomDoublesOf, ::testing::ValuesIn(Names()),
                         [](const auto& param) { return param.param; });

TEST(RandomDoubles, FindEveryFlippedBit) {
  for (const char* name : {"exp", "log1p", "atan2", "pow"}) {
    const Function& function = *FindFunction(name);
    int64_t planted = 0;
    const RandomResults results = Try(function, kFew, [&](const Doubles& x, const Doubles& y, Doubles& out) {
      ByOp(function)(x, y, out);
      for (size_t i = 0; i < out.size(); ++i) {
        const uint64_t hash = reference::Mixed(std::bit_cast<uint64_t>(x[i]) ^ 3 * std::bit_cast<uint64_t>(y[i]));
        if (hash % 10'000 != 0 || std::isnan(out[i])) continue;
        out[i] = std::bit_cast<double>(std::bit_cast<uint64_t>(out[i]) ^ 1);
        ++planted;
      }
    });
    EXPECT_EQ(results.wrong[0], planted) << name;
    EXPECT_GT(planted, 2) << name;
  }
}

TEST(RandomDoubles, FindASecondRounding) {
  const Function& function = *FindFunction("exp");
  int64_t wrong = 0;
  const RandomResults results = Try(function, kFew, [&](const Doubles& x, const Doubles& y, Doubles& out) {
    mpfr_t operand, value;
    mpfr_init2(operand, 53);
    mpfr_init2(value, 63);
    for (size_t i = 0; i < out.size(); ++i) {
      mpfr_set_d(operand, x[i], MPFR_RNDN);
      mpfr_exp(value, operand, MPFR_RNDN);
      out[i] = mpfr_get_d(value, MPFR_RNDN);
      wrong += Bits(out[i]) != Bits(reference::Rounded(function, x[i], y[i])) ? 1 : 0;
    }
    mpfr_clears(operand, value, nullptr);
  });
  EXPECT_EQ(results.wrong[0], wrong);
  EXPECT_GT(wrong, 10);
  EXPECT_LT(wrong, 1000);
}

TEST(RandomDoubles, AreTheSameForASeedAndOthersForAnother) {
  const Function& function = *FindFunction("sin");
  std::map<uint64_t, Doubles> first;
  for (const uint64_t seed : {uint64_t{1}, uint64_t{2}, uint64_t{1}}) {
    Doubles all;
    Try(function, {.seed = seed, .inputs = 10'000, .an_interval = 64},
        [&](const Doubles& x, const Doubles& y, Doubles& out) {
          all.insert(all.end(), x.begin(), x.end());
          ByOp(function)(x, y, out);
        });
    const auto [at, is_new] = first.emplace(seed, all);
    EXPECT_EQ(at->second == all, true) << is_new;
  }
  EXPECT_NE(first[1], first[2]);
  EXPECT_GT(std::set<double>(first[1].begin(), first[1].end()).size(), size_t{9'900});
}

TEST(RandomDoubles, AskMpfrWhereTheRoundingTestIsUndecided) {
  for (const char* name : {"exp", "cbrt", "atan2"}) {
    const Function& function = *FindFunction(name);
    RandomDoubles tried = kFew;
    tried.test_bound = 0x1p-60;
    const RandomResults results = Try(function, tried, ByOp(function));
    EXPECT_EQ(results.wrong[0], 0) << name;
    EXPECT_GT(results.undecided, 100) << name;
  }
}

TEST(RandomDoubles, HaveEveryExponentWithBothSigns) {
  const Function& function = *FindFunction("atan");
  std::set<std::pair<int, bool>> seen;
  for (int64_t i = 0; i < 8 * 2 * 2098; ++i) {
    const double x = DrawOperands(function, 1, i).x;
    seen.emplace(std::ilogb(x), std::signbit(x));
  }
  EXPECT_GT(seen.size(), size_t{2 * 2098 - 10});  // a subnormal number may round up to the next
}

/// An interval gives what MPFR gives for each number, and has a polynomial if it should.
void ExpectRounded(const char* name, const reference::Operands& around, bool has_polynomial) {
  const Function& function = *FindFunction(name);
  Random random(7);
  const Interval interval(function, around, random);
  EXPECT_EQ(interval.has_polynomial(), has_polynomial) << name << " " << around.x;
  Doubles x, y, results;
  interval.Draw(100, 5, x, y);
  const int64_t asked = interval.Results(x, y, reference::kTestBound, results);
  EXPECT_EQ(asked, has_polynomial ? 0 : 100) << name;
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(Bits(results[i]), Bits(reference::Rounded(function, x[i], y[i])))
        << std::hexfloat << name << "(" << x[i] << ", " << y[i] << ")";
  }
}

TEST(Intervals, RoundOnceWhereResultsAreAtTheEndsOfTheFormat) {
  ExpectRounded("exp", {.x = -0x1.6232bdd7abcd2p+9}, false);  // at the smallest normal number, of both kinds
  ExpectRounded("exp", {.x = -0x1.6232bep+9}, true);          // below
  ExpectRounded("exp", {.x = -0x1.6232bdp+9}, true);          // above
  ExpectRounded("exp", {.x = -0x1.74385446d71c3p+9}, true);   // at the smallest
  ExpectRounded("exp", {.x = -0x1.74910d52d3051p+9}, true);   // at half of it, where results become 0
  ExpectRounded("exp", {.x = 0x1.62e42fefa39efp+9}, true);    // at the largest number
  ExpectRounded("exp", {.x = 1e5}, true);                     // all infinite
  ExpectRounded("exp", {.x = -1e5}, true);                    // all 0
  ExpectRounded("exp2", {.x = -1022.1}, true);                // subnormal
  ExpectRounded("exp2", {.x = -1030.3}, true);
  ExpectRounded("sinh", {.x = -0x1.6p-1040}, true);
  ExpectRounded("expm1", {.x = -0x1.6p-1074}, false);  // too few doubles, of both signs
  ExpectRounded("atan2", {.x = -0x1.2p-1000, .y = 0x1.6p40}, true);
  ExpectRounded("atan2", {.x = -0x1.2p-1000, .y = 0x1.6p40, .second_varies = true}, true);
  ExpectRounded("pow", {.x = 0x1.2p-900, .y = 1.15, .second_varies = true}, true);
  ExpectRounded("log", {.x = 0x1.6p-1040}, true);
  ExpectRounded("exp", {.x = 0}, true);  // nearly all 1
}

TEST(Intervals, LeaveToMpfrWhatNoPolynomialIs) {
  ExpectRounded("log", {.x = -2}, false);  // NaN
  ExpectRounded("log", {.x = 1}, false);   // the zero
  ExpectRounded("sin", {.x = 0x1.8p100}, false);
  ExpectRounded("pow", {.x = -1.5, .y = 2.5}, false);
  ExpectRounded("pow", {.x = -1.5, .y = 3}, true);
}

/// c[0] + c[1] u on four doubles from 1, 1 + 2^-52, …: u is -1, -1/2, 0 and 1/2.
PiecePolynomial Line(double high, double low, int64_t exponent, bool subnormal) {
  PiecePolynomial line = {};
  line.high[0] = high;
  line.low[0] = low;
  line.high[1] = 0x1p-54;
  line.first = std::bit_cast<uint64_t>(1.0);
  line.size = 2;
  line.exponent = exponent;
  line.subnormal = subnormal;
  return line;
}

TEST(Intervals, EvaluateAtTheirDoubles) {
  const PiecePolynomial line = Line(0.75, 0x1p-70, 0, false);
  const uint64_t positions[] = {0, 1, 2, 3};
  double high[4], low[4];
  PairsAt(line, positions, 4, high, low);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(high[i], 0.75);
    EXPECT_EQ(low[i], 0x1p-70 + (i - 2) * 0x1p-55);
  }
}

TEST(Intervals, DecideUpToTheBoundOfMidpoints) {
  constexpr double kUlp = 0x1p-53;  // of numbers in [1/2, 1)
  const double high[] = {0.75, 0.75, 0.75, 0.75, 0.75, 0.5, 0.5};
  const double low[] = {kUlp / 2,  kUlp / 2 - 0x1p-90, kUlp / 2 - 0x1p-80, -kUlp / 2 + 0x1p-90, -kUlp / 2 + 0x1p-80,
                        -kUlp / 4, -kUlp / 4 + 0x1p-80};
  const uint64_t expected[] = {1, 1, 0, 1, 0, 1, 0};
  double results[7];
  uint64_t undecided[7];
  EXPECT_EQ(RoundPairs(Line(0, 0, 3, false), high, low, 7, 0x1p-89, results, undecided), 4);
  for (int i = 0; i < 7; ++i) {
    EXPECT_EQ(undecided[i], expected[i]) << i;
    EXPECT_TRUE(undecided[i] == 1 || results[i] == 8 * high[i]) << i;
  }
}

TEST(Intervals, DecideUpToTheBoundOfMidpointsOfSubnormalNumbers) {
  // Over 2^-1070 the quantum is 2^-4. What a large part adds to 2^-5 is a double, so that far smaller parts are lost there.
  const double high[] = {0.75, -0.75, 0.78125, 0.78125, 0.78125, -0.84375, 0.84375, 0.84375, 0.84375, 0x1p-5, -0x1p-9};
  const double low[] = {0, 0, 0, 0x1p-56, -0x1p-56, -0x1p-56, -0x1p-56, -0x1p-80, -0x1p-95, -0x1p-56, 0};
  const uint64_t expected[] = {0, 0, 1, 0, 0, 0, 0, 1, 1, 0, 0};
  const double quanta[] = {12, -12, 0, 13, 12, -14, 13, 0, 0, 0, -0.0};
  double results[11];
  uint64_t undecided[11];
  EXPECT_EQ(RoundPairs(Line(0, 0, -1070, true), high, low, 11, 0x1p-89, results, undecided), 3);
  for (int i = 0; i < 11; ++i) {
    EXPECT_EQ(undecided[i], expected[i]) << i;
    EXPECT_TRUE(undecided[i] == 1 || Bits(results[i]) == Bits(quanta[i] * 0x1p-1074)) << i << " " << results[i];
  }
}

}  // namespace
}  // namespace repdl

// SPDX-License-Identifier: MIT
#include "numerics/order.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "numerics/power.h"

namespace repdl {
namespace {

/// The tree of the contract over names, as an expression.
std::string Expected(int num_chunks) {
  std::vector<std::string> waiting;
  for (int i = 0; i < num_chunks; ++i) {
    std::string value = std::to_string(i);
    for (int n = i; n % 2 == 1; n /= 2) {
      value = "(" + waiting.back() + "+" + value + ")";
      waiting.pop_back();
    }
    waiting.push_back(value);
  }
  std::string result = waiting.back();
  for (waiting.pop_back(); !waiting.empty(); waiting.pop_back()) result = "(" + waiting.back() + "+" + result + ")";
  return result;
}

TEST(Tree, IsThatOfTheContract) {
  for (int n = 1; n < 70; ++n) {
    std::vector<std::string> levels(static_cast<size_t>(NumLevels(n)));
    std::string result;
    for (int i = 0; i < n; ++i) {
      std::string value = std::to_string(i);
      const bool last = i + 1 == n;
      TakeIn(i, last, [&](int level) { value = "(" + levels.at(static_cast<size_t>(level)) + "+" + value + ")"; });
      if (last) {
        result = value;
      } else {
        levels.at(static_cast<size_t>(Park(i))) = value;
      }
    }
    EXPECT_EQ(result, Expected(n));
  }
}

TEST(Tree, IsAligned) {
  // Eight chunks are the two trees of four, merged.
  EXPECT_EQ(Expected(4), "((0+1)+(2+3))");
  EXPECT_EQ(Expected(8), "(((0+1)+(2+3))+((4+5)+(6+7)))");
  EXPECT_EQ(Expected(6), "(((0+1)+(2+3))+(4+5))");
}

TEST(PowInt, IsTheRoundedPower) {
  for (double base : {0.9, 0.999, 0.5, 1.0, 0.0, 0.95, 0.9999, 0.1}) {
    for (int64_t n : {0, 1, 2, 3, 7, 100, 1200, 100000}) {
      // glibc's long double power carries eleven bits more.
      const auto expected = static_cast<double>(std::pow(static_cast<long double>(base), static_cast<long double>(n)));
      EXPECT_EQ(PowInt(base, n), expected) << base << "^" << n;
    }
  }
}

}  // namespace
}  // namespace repdl

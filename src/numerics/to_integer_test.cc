// SPDX-License-Identifier: MIT
#include "repdl/to_integer.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

namespace repdl {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();
constexpr uint64_t kLeast32 = 0xffffffff80000000, kLeast64 = 0x8000000000000000;

TEST(ToInteger, RoundsTowardsZero) {
  for (const Through through : {Through::kInt32, Through::kInt64, Through::kUInt64}) {
    EXPECT_EQ(ToInteger(-0.0, through), 0u);
    EXPECT_EQ(ToInteger(0.99, through), 0u);
    EXPECT_EQ(ToInteger(-0.99, through), 0u);
    EXPECT_EQ(ToInteger(7.99, through), 7u);
    EXPECT_EQ(ToInteger(-7.99, through), uint64_t(-7));
    EXPECT_EQ(ToInteger(2147483647.0, through), 2147483647u);
    EXPECT_EQ(ToInteger(-2147483648.5, through), kLeast32);
  }
}

TEST(ToInteger, IsTheLeastOutOfRange) {
  for (const double x : {kNaN, -kNaN, kInf, -kInf, 2147483648.0, -2147483649.0, 1e300, -1e300}) {
    EXPECT_EQ(ToInteger(x, Through::kInt32), kLeast32) << x;
  }
  for (const double x : {kNaN, -kNaN, kInf, -kInf, 0x1p63, -0x1.0000000000001p63, 1e300, -1e300}) {
    EXPECT_EQ(ToInteger(x, Through::kInt64), kLeast64) << x;
  }
  EXPECT_EQ(ToInteger(0x1.fffffffffffffp62, Through::kInt64), 0x7ffffffffffffc00u);
  EXPECT_EQ(ToInteger(-0x1p63, Through::kInt64), kLeast64);
}

TEST(ToInteger, GoesOnIn64BitsWithoutSign) {
  EXPECT_EQ(ToInteger(0x1p63, Through::kUInt64), kLeast64);
  EXPECT_EQ(ToInteger(0x1.fffffffffffffp63, Through::kUInt64), 0xfffffffffffff800u);
  EXPECT_EQ(ToInteger(0x1p64, Through::kUInt64), 0u);
  EXPECT_EQ(ToInteger(kInf, Through::kUInt64), 0u);
  EXPECT_EQ(ToInteger(-1, Through::kUInt64), ~uint64_t{0});
  for (const double x : {kNaN, -kInf, -1e300}) EXPECT_EQ(ToInteger(x, Through::kUInt64), kLeast64) << x;
}

TEST(ToInteger, ConvertsWhatIsOutOfRangeAlone) {
  // A column of float16 that broadcasts: 1, NaN, -1; the results lie by columns.
  const std::array<uint16_t, 3> from = {0x3c00, 0x7e00, 0xbc00};
  std::array<uint8_t, 6> to = {9, 9, 9, 9, 9, 9};
  const std::array<int64_t, 2> column = {3, 1}, shape = {3, 2}, steps_from = {2, 2}, steps = {1, 3};
  ConvertOutOfRange({reinterpret_cast<uintptr_t>(from.data()), 2, column, steps_from}, DType::kFloat16,
                    {reinterpret_cast<uintptr_t>(to.data()), 1, shape, steps}, false, Through::kInt64);
  EXPECT_EQ(to, (std::array<uint8_t, 6>{9, 0, 255, 9, 0, 255}));
}

}  // namespace
}  // namespace repdl

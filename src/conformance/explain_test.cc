// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <numeric>

#include "repdl/error.h"
#include "repdl/golden.h"

namespace repdl {
namespace {

float Next(float x) { return std::bit_cast<float>(std::bit_cast<uint32_t>(x) + 1); }

TEST(Explain, NamesTheFirstElementAndTheDistance) {
  float expected[] = {0, 1, 2, 3, 4, 5}, actual[] = {0, 1, 2, 3, Next(4), Next(Next(5))};
  int64_t indices[] = {7, -8};
  const std::vector<TensorView> left = {MakeView(indices, {2}), MakeView(expected, {2, 3})};
  const std::vector<TensorView> right = {MakeView(indices, {2}), MakeView(actual, {2, 3})};
  EXPECT_EQ(DescribeDifference(left, left), "");
  EXPECT_EQ(DescribeDifference(left, right),
            "output 1 at (1, 1): expected 0x40800000 (4), got 0x40800001 (4.00000048); 2 of 8 elements differ, by at "
            "most 2 ULP");
  actual[4] = NAN;
  EXPECT_EQ(DescribeDifference(left, right),
            "output 1 at (1, 1): expected 0x40800000 (4), got 0x7fc00000 (nan); 2 of 8 elements differ, by at most 2 "
            "ULP; 1 in being NaN");
  int64_t others[] = {7, 8};
  EXPECT_EQ(DescribeDifference({MakeView(indices, {2})}, {MakeView(others, {2})}),
            "output 0 at (1,): expected -8, got 8; 1 of 2 elements differ, by at most 16 ULP");
}

TEST(Explain, ReadsEveryNanAsOneAndTheSignOfZero) {
  float expected[] = {NAN, 0}, actual[] = {std::bit_cast<float>(0xffc00001u), -0.0f};
  EXPECT_EQ(DescribeDifference({MakeView(expected, {1})}, {MakeView(actual, {1})}), "");
  EXPECT_EQ(DescribeDifference({MakeView(expected, {2})}, {MakeView(actual, {2})}),
            "output 0 at (1,): expected 0x00000000 (0), got 0x80000000 (-0); 1 of 2 elements differ, by at most 1 ULP");
}

TEST(Explain, ReadsTypesOf16Bits) {
  uint16_t expected[] = {0x3f80, 0xc000}, actual[] = {0x3f80, 0xc001};
  const auto describe = [&](DType dtype) {
    return DescribeDifference({MakeView(expected, dtype, {2})}, {MakeView(actual, dtype, {2})});
  };
  EXPECT_EQ(describe(DType::kBFloat16),
            "output 0 at (1,): expected 0xc000 (-2), got 0xc001 (-2.015625); 1 of 2 elements differ, by at most 1 ULP");
  EXPECT_EQ(
      describe(DType::kFloat16),
      "output 0 at (1,): expected 0xc000 (-2), got 0xc001 (-2.00195312); 1 of 2 elements differ, by at most 1 ULP");
}

TEST(Explain, SeesOtherShapes) {
  float values[6] = {};
  EXPECT_EQ(DescribeDifference({MakeView(values, {2, 3})}, {MakeView(values, {3, 2})}),
            "output 0: expected float32(2, 3), got float32(3, 2)");
  EXPECT_EQ(DescribeDifference({MakeView(values, {2, 3})}, {}), "expected 1 results, got 0");
}

TEST(Marks, AreChecksumsOfBlocks) {
  // The check value of this CRC: "123456789" gives 0x31c3; here eight of the characters are one int64.
  const int64_t text = 0x3837363534333231;
  EXPECT_EQ(Marks({MakeView(&text, {1})}), "9015");
  EXPECT_EQ(Marks({}), "-");
  const std::vector<float> ones(129, 1);  // blocks of 3
  EXPECT_EQ(Marks({MakeView(ones.data(), {129})}).size(), 43u * 4);
}

TEST(Marks, TellWhereResultsDiffer) {
  std::vector<float> few(35, 1), many(200, 1);
  const std::vector<TensorView> small = {MakeView(few.data(), {5, 7})};
  const std::vector<TensorView> large = {MakeView(few.data(), {35}), MakeView(many.data(), {4, 50})};
  const std::string small_marks = Marks(small), large_marks = Marks(large);
  few[10] = 2;
  EXPECT_EQ(DescribeMarks(small_marks, small), "first difference: output 0 at (1, 3); got 0x40000000 (2)");
  few[10] = 1;
  few[34] = 2;  // the blocks of 4 do not end where an output ends
  EXPECT_EQ(
      DescribeMarks(large_marks, large),
      "the first difference lies between output 0 at (32,) and output 1 at (0, 0); got 0x3f800000 (1), 0x3f800000 "
      "(1), 0x40000000 (2), 0x3f800000 (1)");
  few[34] = 1;
  many[199] = 3;  // the last block is shorter
  EXPECT_EQ(DescribeMarks(large_marks, large),
            "the first difference lies between output 1 at (3, 47) and output 1 at (3, 49); got 0x3f800000 (1), "
            "0x3f800000 (1), 0x40400000 (3)");
  EXPECT_NE(DescribeMarks(Marks(large), large).find("no mark differs"), std::string::npos);
  EXPECT_EQ(DescribeMarks(small_marks, large), "the number of elements differs");
  EXPECT_EQ(DescribeMarks(small_marks, {}), "the number of elements differs");
  EXPECT_EQ(DescribeMarks("x", {}), "the number of elements differs");
}

TEST(GoldenFile, ThatIsMissingIsAnError) { EXPECT_THROW(ReadGoldenFile("no/such/file.txt"), ValueError); }

TEST(Places, GiveTheTargetBack) {
  Case test_case("sum(input=normal[3]#1)");
  const auto places = Places();
  ASSERT_FALSE(places.empty());
  EXPECT_EQ(places[0], "scalar");
  EXPECT_THROW(RunAt("cuda:77", test_case), ValueError);
  EXPECT_THROW(RunAt("pdp11", test_case), ValueError);
}

}  // namespace
}  // namespace repdl

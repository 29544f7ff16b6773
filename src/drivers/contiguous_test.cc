// SPDX-License-Identifier: MIT
#include "drivers/contiguous.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace repdl {
namespace {

TEST(Contiguous, CopiesAStridedView) {
  std::vector<float> x(24);
  std::iota(x.begin(), x.end(), 0.0f);
  TensorView view = MakeView(x.data(), {2, 3, 4});
  view.strides = {12, 1, 3};  // a transpose of the last two
  OpScratch scratch{Place()};
  const TensorView copy = Contiguous(view, scratch);
  EXPECT_TRUE(copy.IsContiguous());
  EXPECT_EQ(copy.Data<float>()[1], 3.0f);
  EXPECT_EQ(copy.Data<float>()[23], 23.0f);
}

template <class T>
void CheckTurned(DType dtype) {
  for (const int64_t rows : {1, 4, 15, 17, 64, 67}) {
    for (const int64_t cols : {1, 3, 16, 65, 130}) {
      const IntList shape = {2, 3, rows, cols};
      std::vector<T> x(static_cast<size_t>(6 * rows * cols));
      for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(i * 7 + i / 251);
      TensorView view = MakeView(x.data(), dtype, shape);
      view.strides = {rows * cols, 2 * rows * cols, 1, rows};  // outer dimensions change places too
      OpScratch scratch{Place()};
      const TensorView copy = Contiguous(view, scratch);
      for (int64_t a = 0, at = 0; a < 2; ++a) {
        for (int64_t b = 0; b < 3; ++b) {
          for (int64_t i = 0; i < rows; ++i) {
            for (int64_t j = 0; j < cols; ++j, ++at) {
              ASSERT_EQ(copy.Data<T>()[at], x[a * rows * cols + b * 2 * rows * cols + i + j * rows])
                  << rows << " " << cols;
            }
          }
        }
      }
    }
  }
}

TEST(Contiguous, TurnsPlanesOfEverySize) {
  CheckTurned<uint8_t>(DType::kUInt8);
  CheckTurned<uint16_t>(DType::kBFloat16);
  CheckTurned<float>(DType::kFloat32);
  CheckTurned<double>(DType::kFloat64);
}

}  // namespace
}  // namespace repdl

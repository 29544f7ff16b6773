// SPDX-License-Identifier: MIT
#include "drivers/contiguous.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "repdl/target.h"

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

/// On the active target. Of floating-point numbers all bits are tried, those of signaling NaN too.
template <class T>
void CheckTurned(DType dtype) {
  for (const int64_t rows : {1, 4, 15, 17, 64, 67}) {
    for (const int64_t cols : {1, 3, 8, 16, 65, 130}) {
      const IntList shape = {2, 3, rows, cols};
      std::vector<T> x(static_cast<size_t>(6 * rows * cols));
      for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>((i + 1) * 0x9e3779b97f4a7c15 >> (64 - 8 * sizeof(T)));
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

TEST(Contiguous, TurnsPlanesOfEverySizeOnEveryTarget) {
  const std::string before(ActiveTarget());
  for (const std::string_view target : SupportedTargets()) {
    SCOPED_TRACE(target);
    SetTarget(target);
    CheckTurned<uint8_t>(DType::kUInt8);
    CheckTurned<uint16_t>(DType::kBFloat16);
    CheckTurned<uint32_t>(DType::kFloat32);
    CheckTurned<uint64_t>(DType::kFloat64);
  }
  SetTarget(before);
}

}  // namespace
}  // namespace repdl

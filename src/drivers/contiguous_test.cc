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

}  // namespace
}  // namespace repdl

// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "cpp/golden.h"
#include "reference/ops.h"

namespace repdl::reference {

Results RunSkeleton(const Case& test_case);

namespace {

TEST(Skeleton, TheReferenceGivesTheGoldenDigests) {
  const auto lines = testing::GoldenLines("skeleton");
  ASSERT_FALSE(lines.empty());
  for (const testing::GoldenLine& line : lines) {
    EXPECT_EQ(Digest(RunSkeleton(Case(line.text)).tensors), line.digest) << line.text;
  }
}

}  // namespace
}  // namespace repdl::reference

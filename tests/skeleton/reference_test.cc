// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "cpp/golden.h"
#include "reference/reference.h"

namespace repdl::reference {
namespace {

TEST(Skeleton, TheReferenceGivesTheGoldenDigests) {
  const auto lines = testing::GoldenLines("skeleton");
  ASSERT_FALSE(lines.empty());
  for (const testing::GoldenLine& line : lines) {
    EXPECT_EQ(Digest(reference::Run(Case(line.text)).tensors), line.digest) << line.text;
  }
}

}  // namespace
}  // namespace repdl::reference

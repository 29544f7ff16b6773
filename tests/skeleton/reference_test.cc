// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "cpp/golden.h"
#include "reference/marks.h"
#include "reference/reference.h"

namespace repdl::reference {
namespace {

TEST(Skeleton, TheReferenceGivesTheGoldenLines) {
  const auto lines = testing::GoldenLines("skeleton");
  ASSERT_FALSE(lines.empty());
  for (const testing::GoldenLine& line : lines) {
    const Results results = reference::Run(Case(line.text));
    EXPECT_EQ(Digest(results.tensors), line.digest) << line.text;
    EXPECT_EQ(MarksOf(results.tensors), line.marks) << line.text;
  }
}

}  // namespace
}  // namespace repdl::reference

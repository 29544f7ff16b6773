// SPDX-License-Identifier: MIT
// Every op, on every CPU target and for several numbers of threads, gives the digests of the slow reference.
#include "cpp/golden.h"

#include <gtest/gtest.h>

#include "cpp/on_target.h"
#include "repdl/conformance.h"
#include "repdl/target.h"
#include "repdl/threads.h"

namespace repdl::testing {

namespace {

// Sanitizers see the accesses of a case in any one split; what more splits give is compared without them.
#if defined(__SANITIZE_THREAD__)
constexpr int kThreads[] = {3};
#elif defined(__SANITIZE_ADDRESS__)
constexpr int kThreads[] = {1, 7};
#else
constexpr int kThreads[] = {1, 2, 3, 7};
#endif

class Golden : public ::testing::TestWithParam<std::string> {
  SettingsGivenBack settings_;
};

TEST_P(Golden, DigestsOnEveryTargetAndForAnyThreads) {
  const auto lines = GoldenLines(GetParam());
  ASSERT_FALSE(lines.empty());
  for (std::string_view target : SupportedTargets()) {
    SetTarget(target);
    ASSERT_EQ(ActiveTarget(), target);
    for (const int threads : kThreads) {
      SetNumThreads(threads);
      for (const GoldenLine& line : lines) {
        Case test_case(line.text);
        EXPECT_EQ(Digest(test_case.Run()), line.digest)
            << line.text << " on " << target << ", " << threads << " threads";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, Golden, ::testing::ValuesIn(GoldenOps()), [](const auto& param) { return param.param; });

}  // namespace
}  // namespace repdl::testing

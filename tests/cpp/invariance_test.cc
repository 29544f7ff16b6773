// SPDX-License-Identifier: MIT
// Results do not depend on how operands lie in memory, or on the floating-point modes of the caller.
#include <gtest/gtest.h>

#include <cfenv>

#include "base/fp_env.h"
#include "cpp/golden.h"
#include "cpp/relayout.h"
#include "repdl/conformance.h"

namespace repdl::testing {
namespace {

/// The digest of a case whose tensor arguments pass through `change`.
std::string DigestWith(const Case& test_case, Relayout::Kind kind) {
  std::vector<Value> args(test_case.args().begin(), test_case.args().end());
  std::deque<Relayout> layouts;
  for (size_t i = 0; i < args.size(); ++i) {
    // Tensors that an op changes must lie flat and alike.
    const bool mutates = std::ranges::any_of(test_case.op().args, &ArgInfo::IsMutated);
    if (mutates && kind != Relayout::kMisaligned && kind != Relayout::kTransposed) continue;
    if (const auto* tensor = std::get_if<TensorView>(&args[i])) {
      args[i] = layouts.emplace_back(*tensor, kind).view();
    }
  }
  std::vector<TensorView> results;
  for (size_t i = 0; i < args.size(); ++i) {
    if (test_case.op().args[i].IsMutated() && std::holds_alternative<TensorView>(args[i])) {
      results.push_back(std::get<TensorView>(args[i]));
    }
  }
  TensorMemory memory;
  const std::vector<TensorView> outputs = memory.New(test_case.op().infer(args));
  results.insert(results.end(), outputs.begin(), outputs.end());
  test_case.op().run(args, outputs);
  return Digest(results);
}

class Invariance : public ::testing::TestWithParam<std::string> {};

TEST_P(Invariance, OfLayout) {
  for (const GoldenLine& line : GoldenLines(GetParam())) {
    for (int kind = 0; kind < Relayout::kNumKinds; ++kind) {
      const Case test_case(line.text);
      EXPECT_EQ(DigestWith(test_case, static_cast<Relayout::Kind>(kind)), line.digest)
          << line.text << ", layout " << kind;
    }
  }
}

#if defined(__x86_64__)
TEST_P(Invariance, OfFloatingPointModes) {
  constexpr uint32_t kFlushToZero = 0x8000, kDenormalsAreZero = 0x40, kRoundUp = 0x4000, kRoundToZero = 0x6000;
  const uint32_t saved = _mm_getcsr();
  for (uint32_t mode : {kFlushToZero | kDenormalsAreZero, kRoundUp, kRoundToZero}) {
    for (const GoldenLine& line : GoldenLines(GetParam())) {
      Case test_case(line.text);
      _mm_setcsr(saved | mode);
      const auto results = test_case.Run();
      const uint32_t after = _mm_getcsr();
      _mm_setcsr(saved);
      EXPECT_EQ(after & 0xffc0, (saved | mode) & 0xffc0) << "the caller's modes were not given back";
      EXPECT_EQ(Digest(results), line.digest) << line.text << ", mode " << mode;
    }
  }
}
#endif

INSTANTIATE_TEST_SUITE_P(Ops, Invariance, ::testing::ValuesIn(GoldenOps()),
                         [](const auto& param) { return param.param; });

}  // namespace
}  // namespace repdl::testing

// SPDX-License-Identifier: MIT
// What the fuzzers try, without a fuzzer: every small golden case with a few bytes changed, and calls by random bytes.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "cpp/golden.h"
#include "fuzz/fuzz.h"
#include "repdl/target.h"
#include "repdl/threads.h"

namespace repdl::testing {
namespace {

/// Gives the process its target and threads back.
class Fuzz : public ::testing::Test {
 protected:
  ~Fuzz() override {
    SetTarget(target_);
    SetNumThreads(threads_);
  }
  std::mt19937_64 random_{1};

 private:
  std::string_view target_ = ActiveTarget();
  int threads_ = GetNumThreads();
};

std::span<const uint8_t> BytesOf(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

TEST_F(Fuzz, TextOfCasesAndGoldenFiles) {
  constexpr std::string_view kAlphabet = "0123456789-[](),.#='_ aeNnot\n";
  for (const std::string& op : GoldenOps()) {
    const auto lines = GoldenLines(op);
    for (size_t i = 0; i < std::min<size_t>(lines.size(), 40); ++i) {
      std::string text = lines[i].text;
      for (int changes = 0; changes < 4; ++changes) {
        ASSERT_EQ(FuzzText(BytesOf(text)), "");
        ASSERT_EQ(FuzzText(BytesOf(lines[i].digest + "  " + lines[i].marks + "  " + text)), "");
        text[random_() % text.size()] = kAlphabet[random_() % kAlphabet.size()];
      }
    }
  }
}

TEST_F(Fuzz, Calls) {
  for (int i = 0; i < 20000; ++i) {
    std::vector<uint8_t> bytes(random_() % 48);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random_());
    ASSERT_EQ(FuzzCall(bytes), "") << "input " << i;
  }
}

}  // namespace
}  // namespace repdl::testing

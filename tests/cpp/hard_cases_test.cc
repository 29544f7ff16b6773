// SPDX-License-Identifier: MIT
// The known hard cases of the elementary functions, on every CPU target. Needs no MPFR: the files hold the results.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "repdl/op.h"
#include "repdl/target.h"

namespace repdl::testing {
namespace {

const std::filesystem::path kFolder = REPDL_HARD_CASES;

uint32_t CanonicalBits(float x) { return std::isnan(x) ? 0x7fc00000 : std::bit_cast<uint32_t>(x); }

/// The columns of a file: the operands and the result.
std::vector<std::vector<float>> ReadColumns(const std::filesystem::path& path) {
  std::vector<std::vector<float>> columns;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    size_t column = 0;
    for (std::string word; words >> word; ++column) {
      if (column == columns.size()) columns.emplace_back();
      columns[column].push_back(std::bit_cast<float>(static_cast<uint32_t>(std::stoul(word, nullptr, 16))));
    }
  }
  return columns;
}

std::vector<std::string> OpsWithHardCases() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    const std::string name = entry.path().stem();
    if (entry.path().extension() == ".txt" && FindOp(name) != nullptr) names.push_back(name);
  }
  return names;
}

/// Gives the process its target back.
class HardCases : public ::testing::TestWithParam<std::string> {
 protected:
  ~HardCases() override { SetTarget(target_); }

 private:
  std::string_view target_ = ActiveTarget();
};

TEST_P(HardCases, AreRoundedCorrectlyOnEveryTarget) {
  const OpInfo& op = *FindOp(GetParam());
  std::vector<std::vector<float>> columns = ReadColumns(kFolder / (GetParam() + ".txt"));
  ASSERT_GE(columns.size(), 2u);
  const std::vector<float> expected = columns.back();
  columns.pop_back();
  for (const auto& column : columns) ASSERT_EQ(column.size(), expected.size()) << "a line without a result";
  // A derivative D(input) is multiplied by grad_output.
  if (op.args[0].name == "grad_output") columns.insert(columns.begin(), std::vector<float>(expected.size(), 1.0f));
  const IntList shape = {static_cast<int64_t>(expected.size())};
  std::vector<Value> operands;
  for (const auto& column : columns) operands.emplace_back(MakeView(column.data(), shape));
  ASSERT_EQ(operands.size(), op.args.size());
  for (std::string_view target : SupportedTargets()) {
    SetTarget(target);
    std::vector<float> results(expected.size());
    op.run(operands, std::vector<TensorView>{MakeView(results.data(), shape)});
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(CanonicalBits(results[i]), CanonicalBits(expected[i])) << target << ", case " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, HardCases, ::testing::ValuesIn(OpsWithHardCases()),
                         [](const auto& param) { return param.param; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(HardCases);

}  // namespace
}  // namespace repdl::testing

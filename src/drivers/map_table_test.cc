// SPDX-License-Identifier: MIT
// A table of results has those that are computed one by one.
#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "cpp/on_target.h"
#include "repdl/op.h"
#include "repdl/target.h"
#include "repdl/threads.h"

namespace repdl {
namespace {

constexpr int64_t kAll = int64_t{1} << 16;

/// Ops of one tensor of 16 bits, whose result is another one.
std::vector<const OpInfo*> OpsOfOneNumber(DType dtype) {
  std::vector<const OpInfo*> ops;
  uint16_t number = 0;
  const Value arg = MakeView(&number, dtype, {1});
  for (const OpInfo& op : AllOps()) {
    if (op.args.size() != 1 || op.args[0].type != "Tensor" || op.num_outputs != 1) continue;
    try {
      const Specs specs = op.infer({&arg, 1});
      if (specs.spec[0].dtype == dtype && specs.spec[0].shape == IntList{1}) ops.push_back(&op);
    } catch (const std::invalid_argument&) {  // it does not take the type
    }
  }
  return ops;
}

/// The results of numbers, in pieces of so many; `stride` apart in memory.
std::vector<uint16_t> ResultsOf(const OpInfo& op, DType dtype, int64_t piece, int64_t stride) {
  std::vector<uint16_t> numbers(kAll * stride, 0x3f80), results(kAll);
  for (int64_t i = 0; i < kAll; ++i) numbers[i * stride] = static_cast<uint16_t>(i);
  for (int64_t i = 0; i < kAll; i += piece) {
    TensorView x = MakeView(&numbers[i * stride], dtype, {piece});
    x.strides[0] = stride;
    const Value arg = x;
    const TensorView result = MakeView(&results[i], dtype, {piece});
    op.run({&arg, 1}, {&result, 1});
  }
  return results;
}

class MapTable : public testing::OnTarget {};

TEST_P(MapTable, HasTheResultsOfAllNumbers) {
  for (const DType dtype : {DType::kBFloat16, DType::kFloat16}) {
    const std::vector<const OpInfo*> ops = OpsOfOneNumber(dtype);
    EXPECT_FALSE(ops.empty());
    for (const OpInfo* op : ops) {
      const std::vector<uint16_t> one_by_one = ResultsOf(*op, dtype, 128, 1);  // too few for a table
      for (const int threads : {1, 3}) {
        SetNumThreads(threads);
        EXPECT_EQ(ResultsOf(*op, dtype, kAll, 1), one_by_one) << op->name;
        EXPECT_EQ(ResultsOf(*op, dtype, kAll, 2), one_by_one) << op->name;
        EXPECT_EQ(ResultsOf(*op, dtype, 1024, 3), one_by_one) << op->name;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, MapTable, ::testing::ValuesIn(SupportedTargets()), testing::NameOfTarget);

}  // namespace
}  // namespace repdl

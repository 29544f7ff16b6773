// SPDX-License-Identifier: MIT
// What an op does at a place that is not the CPU. The memory of the device here is the host's, and its kernels are those of
// the CPU, which the slots take as they would take kernels from a library that is loaded.
#include "base/place.h"

#include <gtest/gtest.h>

#include "cpp/golden.h"
#include "repdl/conformance.h"
#include "repdl/cuda.h"
#include "repdl/error.h"

namespace repdl::testing {
namespace {

constexpr Device kDevice{DeviceType::kCuda, 99};
constexpr size_t kLines = 6;  // of each op

/// Fills the slots of an op's kernels while it lives.
class FilledSlots {
 public:
  explicit FilledSlots(const OpInfo& op) : op_(op) {
    for (const KernelInfo& kernel : op.kernels) kernel.set_cuda(kernel.on_cpu);
  }
  ~FilledSlots() {
    for (const KernelInfo& kernel : op_.kernels) kernel.set_cuda(nullptr);
  }
  FilledSlots(const FilledSlots&) = delete;
  FilledSlots& operator=(const FilledSlots&) = delete;

 private:
  const OpInfo& op_;
};

/// What the call changed and made.
std::string DigestOnDevice(const Case& test_case, TensorMemory& memory) {
  const OpInfo& op = test_case.op();
  std::vector<Value> args(test_case.args().begin(), test_case.args().end());
  std::vector<TensorView> results;
  for (size_t i = 0; i < args.size(); ++i) {
    auto* tensor = std::get_if<TensorView>(&args[i]);
    if (tensor == nullptr) continue;
    tensor->device = kDevice;
    if (op.args[i].IsMutated()) results.push_back(*tensor);
  }
  std::vector<TensorView> outputs = memory.New(op.infer(args));
  for (TensorView& output : outputs) output.device = kDevice;
  op.run(args, outputs);
  results.insert(results.end(), outputs.begin(), outputs.end());
  for (TensorView& result : results) result.device = {};
  return Digest(results);
}

class AtPlace : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (op().HasCuda()) GTEST_SKIP() << "tests/cuda runs it on a device";
  }
  static const OpInfo& op() { return *FindOp(GetParam()); }
};

TEST_P(AtPlace, KernelsFromElsewhereAreCalledOnceAllAreThere) {
  std::vector<GoldenLine> lines = GoldenLines(GetParam());
  lines.resize(std::min(lines.size(), kLines));
  const auto run = [&](const GoldenLine& line) {
    TensorMemory memory;
    return DigestOnDevice(Case(line.text), memory);
  };
  for (const GoldenLine& line : lines) EXPECT_THROW(run(line), NotImplementedError) << line.text;
  if (op().kernels.empty()) return;
  const FilledSlots slots(op());
  ASSERT_TRUE(op().HasCuda());
  for (const GoldenLine& line : lines) {
    try {
      EXPECT_EQ(run(line), line.digest) << line.text;
    } catch (const NotImplementedError& error) {
      // An op may need memory of the CPU, but it calls no kernel that its line in the table lacks.
      EXPECT_EQ(std::string_view(error.what()).find("has no kernel"), std::string_view::npos) << error.what();
    } catch (const CudaError&) {
      // Nor is there memory of such a device, where CUDA is asked for some.
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, AtPlace, ::testing::ValuesIn(GoldenOps()), [](const auto& param) { return param.param; });

TEST(Place, AnEmptySlotNamesTheOpAndTheDevice) {
  try {
    PlaceOf("mm", MakeView(nullptr, DType::kFloat32, {1, 1}, kDevice));
    GTEST_SKIP() << "mm has a kernel";
  } catch (const NotImplementedError& error) {
    EXPECT_STREQ(error.what(), "[mm] has no kernel for cuda:99 in this build; move the tensors to the CPU");
  }
}

}  // namespace
}  // namespace repdl::testing

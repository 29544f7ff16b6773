// SPDX-License-Identifier: MIT
// Every op with a CUDA kernel gives the digests of the slow reference when the text of the kernel runs on the host: in every
// layout, large cases in two of the four in turn, each in schedules of its own.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "cpp/golden.h"
#include "cuda/digest_on_device.h"
#include "cuda/on_host/block.h"
#include "drivers/map_cuda_thread.h"

namespace repdl::testing {
namespace {

// Of a case with more elements than these two layouts take too much time already.
constexpr int64_t kLarge = 1000;

int64_t CountElements(const Case& test_case) {
  int64_t count = 0;
  for (const Value& arg : test_case.args()) {
    if (const auto* tensor = std::get_if<TensorView>(&arg)) count += tensor->numel();
  }
  return count;
}

class CudaOnHost : public ::testing::TestWithParam<std::string> {};

TEST_P(CudaOnHost, GivesTheGoldenDigests) {
  uint32_t schedule = 0, large = 0;
  for (const GoldenLine& line : GoldenLines(GetParam())) {
    const Case test_case(line.text);
    const bool mutates = std::ranges::any_of(test_case.op().args, &ArgInfo::IsMutated);
    const bool is_large = CountElements(test_case) > kLarge;
    for (int kind = is_large ? static_cast<int>(++large % 2) : 0; kind < Relayout::kNumKinds;
         kind += is_large ? 2 : 1) {
      // Tensors that an op changes must lie flat and alike.
      on_host::SetSchedule(++schedule);
      const Case fresh(line.text);
      const auto flat = schedule % 2 == 0 ? Relayout::kMisaligned : Relayout::kAligned;
      const auto layout = mutates || kind == Relayout::kMisaligned ? flat : static_cast<Relayout::Kind>(kind);
      EXPECT_EQ(DigestOnDevice(fresh, layout), line.digest)
          << line.text << ", layout " << kind << ", schedule " << schedule;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, CudaOnHost, ::testing::ValuesIn(OpsWithKernels()),
                         [](const auto& param) { return param.param; });

TEST(CudaMap, OffsetsOfMoreThan32Bits) {
  // Sizes on both sides of 2^32, and an operand that is repeated along one of them.
  MapArgs args;
  args.rank = 3;
  const int64_t shape[] = {3, 5'000'000'000, 7}, strides[] = {11, -2, 0};
  std::copy_n(shape, 3, args.shape);
  std::copy_n(strides, 3, args.strides[0]);
  for (int64_t i : {int64_t{0}, int64_t{2}}) {
    for (int64_t j : {int64_t{0}, int64_t{613'566'756}, int64_t{4'294'967'296}, int64_t{4'999'999'999}}) {
      for (int64_t k : {int64_t{0}, int64_t{6}}) {
        int64_t offsets[1];
        scalar::MapOffsets<1>(args, (i * shape[1] + j) * shape[2] + k, offsets);
        EXPECT_EQ(offsets[0], 11 * i - 2 * j) << i << ' ' << j << ' ' << k;
      }
    }
  }
}

TEST(CudaMap, ThreadsComeAroundAgain) {
  // As the golden tensors are too small to need: a launch has a thread for each of their elements.
  constexpr int64_t kCount = 1000, kThreads = 37;
  std::vector<float> x(kCount), y(kCount, -1.0f), want(kCount);
  std::iota(x.begin(), x.end(), 0.0f);
  std::iota(want.begin(), want.end(), 1.0f);
  const TensorView input = MakeView(x.data(), DType::kFloat32, {kCount});
  const MapArgs args = MakeMapArgs({&input}, MakeView(y.data(), DType::kFloat32, {kCount}));
  const scalar::MapFours fours;
  int64_t count = 0;
  for (int64_t thread = kThreads - 1; thread >= 0; --thread) {
    scalar::MapThread<1>(args, fours, thread, kThreads, [&](float value) {
      ++count;
      return value + 1.0f;
    });
  }
  EXPECT_EQ(count, kCount);
  EXPECT_EQ(y, want);
}

}  // namespace
}  // namespace repdl::testing

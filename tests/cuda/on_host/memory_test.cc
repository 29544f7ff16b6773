// SPDX-License-Identifier: MIT
// What ops do to memory of a device besides their kernels.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <new>
#include <vector>

#include "cuda/digest_on_device.h"
#include "drivers/contiguous.h"

namespace repdl::testing {
namespace {

const Place kPlace{"memory", kDevice};

TEST(CudaMemory, CopiesElementsOfEverySize) {
  for (const DType dtype : {DType::kBool, DType::kBFloat16, DType::kFloat32, DType::kInt64}) {
    const auto item = static_cast<size_t>(ItemSize(dtype));
    std::vector<std::byte> from(5 * 6 * item), want;
    for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i);
    const DeviceMemory memory(from);
    // Rows from the last to the first, of which every second element is taken, transposed.
    TensorView view = MakeView(memory.data() + 4 * 6 * item, dtype, {3, 5}, kDevice);
    view.strides = {2, -6};
    for (size_t i = 0; i < 3; ++i) {
      for (size_t j = 0; j < 5; ++j) {
        const std::byte* const element = from.data() + ((4 - j) * 6 + 2 * i) * item;
        want.insert(want.end(), element, element + item);
      }
    }
    OpScratch scratch(kPlace);
    const TensorView copy = Contiguous(view, scratch);
    EXPECT_EQ(copy.device, kDevice);
    EXPECT_EQ(std::memcmp(copy.data, want.data(), want.size()), 0) << Name(dtype);
    FillWithZero(kPlace, copy);
    EXPECT_EQ(std::memcmp(copy.data, std::vector<std::byte>(want.size()).data(), want.size()), 0) << Name(dtype);
  }
}

TEST(CudaMemory, FillsWithANumber) {
  OpScratch scratch(kPlace);
  auto* const floats = scratch.Get<float>(1000);
  auto* const doubles = scratch.Get<double>(1000);
  FillWith(kPlace, floats, 1000, -0.0f);
  FillWith(kPlace, doubles, 1000, 1.0 / 3.0);
  FillWith(kPlace, floats, 0, 1.0f);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(floats[i] == 0 && std::signbit(floats[i])) << i;
    EXPECT_EQ(doubles[i], 1.0 / 3.0) << i;
  }
}

TEST(CudaMemory, TakesListsOfTheHost) {
  OpScratch scratch(kPlace);
  for (const size_t count : {0, 1, 508, 509, 5000}) {
    std::vector<int64_t> list(count), got(count);
    for (size_t i = 0; i < count; ++i) list[i] = static_cast<int64_t>(i) * -1'000'000'007;
    const auto* const copy = OnPlace(list.data(), static_cast<int64_t>(count), scratch);
    EXPECT_NE(copy, list.data());
    const std::vector<int64_t> want = list;
    list.assign(count, 0);
    Must(cudaMemcpy(got.data(), copy, count * sizeof(int64_t), cudaMemcpyDeviceToHost));
    EXPECT_EQ(got, want);
  }
}

TEST(CudaMemory, OfAnOpIsGivenBack) {
  std::vector<void*> memories;
  {
    OpScratch scratch(kPlace);
    for (const int64_t count : {0, 1, 1000}) memories.push_back(scratch.Get<double>(count));
    EXPECT_THROW(scratch.Get<double>(-1), std::bad_alloc);
    EXPECT_THROW(scratch.Get<double>(INT64_MAX / 4), std::bad_alloc);
  }
  for (void* memory : memories) EXPECT_NE(cudaFree(memory), cudaSuccess);
}

}  // namespace
}  // namespace repdl::testing

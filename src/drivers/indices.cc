// SPDX-License-Identifier: MIT
#include "drivers/indices.h"

#include <algorithm>
#include <atomic>

#include "base/device_memory.h"
#include "base/parallel.h"
#include "drivers/contiguous.h"

namespace repdl {

void CheckIntegers(const ArgName& name, const TensorView& integers, const TensorView& like) {
  CheckDType(name, integers, integers.dtype == DType::kInt32 ? DType::kInt32 : DType::kInt64);
  CheckSameDevice(name, integers, like);
}

const int64_t* AsInt64(const TensorView& integers, OpScratch& scratch) {
  const TensorView packed = Contiguous(integers, scratch);
  if (packed.dtype != DType::kInt32) return packed.Data<const int64_t>();
  auto* const wide = scratch.Get<int64_t>(packed.numel());
  if (scratch.place().IsCpu()) {
    std::copy_n(packed.Data<const int32_t>(), packed.numel(), wide);
  } else {
    internal::MemoryOf(scratch.place()).widen(scratch.place(), packed.Data<const int32_t>(), packed.numel(), wide);
  }
  return wide;
}

const int64_t* CheckedIndices(const ArgName& name, const TensorView& indices, int64_t size, OpScratch& scratch) {
  const int64_t* const data = AsInt64(indices, scratch);
  if (!scratch.place().IsCpu()) return data;  // nothing waits for a device: the kernels look at them
  const int64_t count = indices.numel();
  std::atomic<bool> all_good = true;
  ParallelRanges(count, 32768, [&](int64_t begin, int64_t end) {
    uint64_t signs = 0;  // of each index and of what is left above it: the top bit is set if one of them is negative
    for (int64_t i = begin; i < end; ++i) {
      const auto index = static_cast<uint64_t>(data[i]);
      signs |= index | (static_cast<uint64_t>(size) - 1 - index);
    }
    if (signs >> 63 != 0) all_good.store(false);
  });
  if (all_good) return data;
  for (int64_t i = 0; i < count; ++i) {
    REPDL_CHECK(data[i] >= 0 && data[i] < size, name, " holds ", data[i], ", which is not in [0, ", size, ")");
  }
  return data;
}

void CheckRows(const ArgName& name, int64_t rows) {
  REPDL_CHECK(rows >= 0 && rows <= INT32_MAX, name, " must be in [0, 2^31), got ", rows);
}

}  // namespace repdl

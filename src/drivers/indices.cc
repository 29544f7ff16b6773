// SPDX-License-Identifier: MIT
#include "drivers/indices.h"

#include <atomic>

#include "base/parallel.h"
#include "drivers/contiguous.h"

namespace repdl {

const int64_t* CheckedIndices(const ArgName& name, const TensorView& indices, int64_t size, OpScratch& scratch) {
  CheckCpu(scratch.place());
  const auto* const data = Contiguous(indices, scratch).Data<const int64_t>();
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

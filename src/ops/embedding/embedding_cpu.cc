// SPDX-License-Identifier: MIT
#include "base/parallel.h"
#include "drivers/vector_cpu-inl.h"
#include "ops/embedding/embedding_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

template <class T>
void DivideRows(const DivideRowsArgs<T>& args) {
  ParallelRanges(args.rows, 8192 / std::max<int64_t>(args.width, 1) + 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t row = begin; row < end; ++row) {
      if (args.numbers[row] == 0) continue;
      const VecOf<T> number = Set(TagOf<T>(), static_cast<T>(args.numbers[row]));
      T* const data = args.data + row * args.width;
      ForVectors<T>(args.width, [&](int64_t i, int64_t count)
                                    HWY_ATTR { StoreN<T>(Div(LoadN(data + i, count), number), data + i, count); });
    }
  });
}

}  // namespace

void DivideRowsKernel(const DivideRowsArgs<float>& args) { DivideRows(args); }
void DivideRowsKernel(const DivideRowsArgs<double>& args) { DivideRows(args); }

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

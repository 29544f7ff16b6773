// SPDX-License-Identifier: MIT
#include "drivers/turned.h"

#include <cstring>

#include "drivers/transpose_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

template <class T>
void CopyStrip(const TurnedArgs<T>& args) {
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const TagOf<T> d;
  for (; i + kLanesOf<T> <= args.rows; i += kLanesOf<T>) {
    for (int64_t j = 0; j < kStripCols<T>; j += kLanesOf<T>) {
      VecElementOf<T> square[kLanesOf<T>];
#pragma GCC unroll 16
      for (int64_t q = 0; q < kLanesOf<T>; ++q) square[q] = LoadU(d, args.from + i + (j + q) * args.col_stride);
      TransposeSquare<T>(square);
#pragma GCC unroll 16
      for (int64_t q = 0; q < kLanesOf<T>; ++q) StoreU(VecOf<T>(square[q]), d, args.to + (i + q) * args.row_stride + j);
    }
  }
#endif
  for (; i < args.rows; ++i) {
    for (int64_t j = 0; j < kStripCols<T>; ++j)
      std::memcpy(args.to + i * args.row_stride + j, args.from + i + j * args.col_stride, sizeof(T));
  }
}

}  // namespace

void CopyTurnedStrip(const TurnedArgs<float>& args) { CopyStrip(args); }
void CopyTurnedStrip(const TurnedArgs<double>& args) { CopyStrip(args); }

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

// SPDX-License-Identifier: MIT
#include "base/contiguous.h"

#include <cstring>

#include "base/parallel.h"

namespace repdl {
namespace {

template <class T>
void Copy(const TensorView& from, const TensorView& to) {
  const int inner = from.rank() - 1;
  const int64_t row = from.rank() == 0 ? 1 : from.shape[inner];
  const int64_t from_step = from.rank() == 0 ? 0 : from.strides[inner];
  const int64_t to_step = from.rank() == 0 ? 0 : to.strides[inner];
  const int64_t num_rows = row == 0 ? 0 : from.numel() / row;
  ParallelRanges(num_rows, 16384 / std::max<int64_t>(row, 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      int64_t rest = r;
      const T* x = from.Data<const T>();
      T* y = to.Data<T>();
      for (int dim = inner - 1; dim >= 0; --dim) {
        const int64_t index = rest % from.shape[dim];
        rest /= from.shape[dim];
        x += index * from.strides[dim];
        y += index * to.strides[dim];
      }
      if (from_step == 1 && to_step == 1) {
        std::memcpy(y, x, sizeof(T) * static_cast<size_t>(row));
      } else {
        for (int64_t i = 0; i < row; ++i) y[i * to_step] = x[i * from_step];
      }
    }
  });
}

}  // namespace

void CopyElements(const TensorView& from, const TensorView& to) {
  switch (ItemSize(from.dtype)) {
    case 1: return Copy<uint8_t>(from, to);
    case 2: return Copy<uint16_t>(from, to);
    case 4: return Copy<uint32_t>(from, to);
    case 8: return Copy<uint64_t>(from, to);
    default: return;  // an unknown dtype, which no op takes
  }
}

TensorView Contiguous(const TensorView& tensor, Scratch& scratch) {
  if (tensor.IsContiguous()) return tensor;
  TensorView copy = MakeView(scratch.Get<std::byte>(tensor.numel() * ItemSize(tensor.dtype)), tensor.dtype,
                             tensor.shape, tensor.device);
  CopyElements(tensor, copy);
  return copy;
}

TensorView Permuted(const TensorView& tensor, const IntList& dims) {
  TensorView view = tensor;
  for (int i = 0; i < dims.size(); ++i) {
    view.shape[i] = tensor.shape[static_cast<int>(dims[i])];
    view.strides[i] = tensor.strides[static_cast<int>(dims[i])];
  }
  return view;
}

}  // namespace repdl

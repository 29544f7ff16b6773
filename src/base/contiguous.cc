// SPDX-License-Identifier: MIT
#include "base/contiguous.h"

#include <array>
#include <cstring>

#include "base/parallel.h"

namespace repdl {
namespace {

/// Dimensions of both views, the innermost first: without those of size 1, and neighbours that both step through evenly
/// are one.
struct Dims {
  struct Dim {
    int64_t size, from, to;
  };
  std::array<Dim, kMaxRank + 1> dim;
  int count = 0;

  Dims(const TensorView& from, const TensorView& to) {
    for (int i = from.rank() - 1; i >= 0; --i) {
      const Dim next{from.shape[i], from.strides[i], to.strides[i]};
      if (next.size == 1) continue;
      Dim* const last = count == 0 ? nullptr : &dim[count - 1];
      if (last != nullptr && next.from == last->from * last->size && next.to == last->to * last->size) {
        last->size *= next.size;
      } else {
        dim[count++] = next;
      }
    }
    if (count == 0) dim[count++] = {1, 1, 1};
  }
};

template <class T>
void Copy(const TensorView& from, const TensorView& to) {
  const int64_t numel = from.numel();
  if (numel == 0) return;
  const Dims dims(from, to);
  const int64_t row = dims.dim[0].size, from_step = dims.dim[0].from, to_step = dims.dim[0].to;
  ParallelRanges(numel / row, 16384 / row + 1, [&](int64_t begin, int64_t end) {
    int64_t index[kMaxRank + 1];
    const T* x = from.Data<const T>();
    T* y = to.Data<T>();
    int64_t rest = begin;
    for (int d = 1; d < dims.count; ++d) {
      index[d] = rest % dims.dim[d].size;
      rest /= dims.dim[d].size;
      x += index[d] * dims.dim[d].from;
      y += index[d] * dims.dim[d].to;
    }
    for (int64_t r = begin; r < end; ++r) {
      if (from_step == 1 && to_step == 1 && row >= 64) {
        std::memcpy(y, x, sizeof(T) * static_cast<size_t>(row));
      } else {
        for (int64_t i = 0; i < row; ++i) y[i * to_step] = x[i * from_step];
      }
      if (r + 1 == end) break;  // nothing is stepped to that is not there
      for (int d = 1; d < dims.count; ++d) {
        x += dims.dim[d].from, y += dims.dim[d].to;
        if (++index[d] < dims.dim[d].size) break;
        x -= dims.dim[d].from * dims.dim[d].size, y -= dims.dim[d].to * dims.dim[d].size;
        index[d] = 0;
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

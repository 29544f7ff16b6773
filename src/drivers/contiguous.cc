// SPDX-License-Identifier: MIT
#include "drivers/contiguous.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/device_memory.h"
#include "base/parallel.h"
#include "drivers/map.h"
#include "drivers/turned.h"

namespace repdl {
namespace {

/// A strip of so many columns that lie side by side, to rows. Squares of it are read whole, once each, since lines of the
/// cache that lie powers of two apart push one another out.
template <class T>
void CopyStrip(const T* from, int64_t col_stride, T* to, int64_t row_stride, int64_t rows, int64_t cols) {
  constexpr int64_t kSquare = kStripCols<T>;
  int64_t done = 0;
  if constexpr (sizeof(T) >= 4) {
    using Real = std::conditional_t<sizeof(T) == 4, float, double>;
    if (cols == kSquare) {
      const auto* const x = reinterpret_cast<const Real*>(from);
      return CopyTurnedStrip(Place(), TurnedArgs<Real>{x, col_stride, reinterpret_cast<Real*>(to), row_stride, rows});
    }
  } else if (cols == kSquare) {
    for (; done + kSquare <= rows; done += kSquare) {
      T square[kSquare][kSquare];
      for (int64_t j = 0; j < kSquare; ++j) std::memcpy(square[j], from + done + j * col_stride, sizeof(square[j]));
      for (int64_t i = 0; i < kSquare; ++i) {
        for (int64_t j = 0; j < kSquare; ++j) to[(done + i) * row_stride + j] = square[j][i];
      }
    }
  }
  for (int64_t i = done; i < rows; ++i) {
    for (int64_t j = 0; j < cols; ++j) to[i * row_stride + j] = from[i + j * col_stride];
  }
}

/// Copies where dimension `turned` lies side by side in operand 0, and the last one in operand 1.
template <class T>
void CopyTurned(const MapArgs& map, int turned, T* to) {
  const int inner = map.rank - 1;
  const int64_t rows = map.shape[turned], cols = map.shape[inner];
  const int64_t strips = (cols + kStripCols<T> - 1) / kStripCols<T>;
  ParallelRanges(map.numel / (rows * cols) * strips, 16384 / (rows * kStripCols<T>)+1, [&](int64_t begin, int64_t end) {
    for (int64_t strip = begin; strip < end; ++strip) {
      const int64_t first = strip % strips * kStripCols<T>;
      const T* x = static_cast<const T*>(map.inputs[0]) + first * map.strides[0][inner];
      T* y = to + first;
      for (int64_t dim = inner - 1, rest = strip / strips; dim >= 0; --dim) {
        if (dim == turned) continue;
        x += rest % map.shape[dim] * map.strides[0][dim];
        y += rest % map.shape[dim] * map.strides[1][dim];
        rest /= map.shape[dim];
      }
      CopyStrip(x, map.strides[0][inner], y, map.strides[1][turned], rows, std::min(kStripCols<T>, cols - first));
    }
  });
}

/// From operand 0 to operand 1.
template <class T>
void Copy(const MapArgs& map, T* to) {
  const int inner = map.rank - 1;
  const int64_t row = map.shape[inner], from_step = map.strides[0][inner], to_step = map.strides[1][inner];
  if (from_step > 1 && to_step == 1) {
    for (int dim = 0; dim < inner; ++dim) {
      if (map.strides[0][dim] == 1 && map.shape[dim] >= 4) return CopyTurned(map, dim, to);
    }
  }
  ParallelRanges(map.numel / row, 16384 / row + 1, [&](int64_t begin, int64_t end) {
    int64_t index[kMaxRank];
    const T* x = static_cast<const T*>(map.inputs[0]);
    T* y = to;
    int64_t rest = begin;
    for (int dim = inner - 1; dim >= 0; --dim) {
      index[dim] = rest % map.shape[dim];
      rest /= map.shape[dim];
      x += index[dim] * map.strides[0][dim];
      y += index[dim] * map.strides[1][dim];
    }
    for (int64_t r = begin; r < end; ++r) {
      if (from_step == 1 && to_step == 1 && row >= 64) {
        std::memcpy(y, x, sizeof(T) * static_cast<size_t>(row));
      } else if (from_step == 0 && to_step == 1) {
        std::fill_n(y, row, *x);
      } else {
        for (int64_t i = 0; i < row; ++i) y[i * to_step] = x[i * from_step];
      }
      if (r + 1 == end) break;  // nothing is stepped to that is not there
      for (int dim = inner - 1; dim >= 0; --dim) {
        const int64_t from_stride = map.strides[0][dim], to_stride = map.strides[1][dim];
        x += from_stride, y += to_stride;
        if (++index[dim] < map.shape[dim]) break;
        x -= from_stride * map.shape[dim], y -= to_stride * map.shape[dim];
        index[dim] = 0;
      }
    }
  });
}

}  // namespace

void CopyElements(const Place& place, const TensorView& from, const TensorView& to) {
  if (from.numel() == 0) return;
  if (!place.IsCpu()) return internal::MemoryOf(place).copy(place, from, to);
  const MapArgs map = MakeMapArgs({&from, &to}, from);
  switch (ItemSize(from.dtype)) {
    case 1: return Copy(map, to.Data<uint8_t>());
    case 2: return Copy(map, to.Data<uint16_t>());
    case 4: return Copy(map, to.Data<uint32_t>());
    case 8: return Copy(map, to.Data<uint64_t>());
    default: return;  // an unknown dtype, which no op takes
  }
}

TensorView Contiguous(const TensorView& tensor, OpScratch& scratch) {
  if (tensor.IsContiguous()) return tensor;
  TensorView copy = MakeView(scratch.Get<std::byte>(tensor.numel() * ItemSize(tensor.dtype)), tensor.dtype,
                             tensor.shape, tensor.device);
  CopyElements(scratch.place(), tensor, copy);
  return copy;
}

void FillWithZero(const Place& place, const TensorView& tensor) {
  if (!place.IsCpu()) {
    return internal::MemoryOf(place).fill(place, tensor.data, tensor.numel(), ItemSize(tensor.dtype), 0);
  }
  auto* const data = tensor.Data<std::byte>();
  ParallelRanges(tensor.numel() * ItemSize(tensor.dtype), 65536,
                 [&](int64_t begin, int64_t end) { std::memset(data + begin, 0, static_cast<size_t>(end - begin)); });
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

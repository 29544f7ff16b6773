// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "base/device_memory.h"
#include "base/op_scratch.h"
#include "repdl/tensor.h"

namespace repdl {

/// The tensor itself if it is row-major, else a row-major copy in the scratch memory.
TensorView Contiguous(const TensorView& tensor, OpScratch& scratch);

/// Copies element by element between two views of one shape and dtype.
void CopyElements(const Place& place, const TensorView& from, const TensorView& to);

/// Makes all numbers of a row-major tensor +0.
void FillWithZero(const Place& place, const TensorView& tensor);

/// Writes `count` numbers side by side that are `value`.
template <class T>
void FillWith(const Place& place, T* to, int64_t count, T value) {
  if (place.IsCpu()) {
    std::fill_n(to, count, value);
  } else {
    using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
    internal::MemoryOf(place).fill(place, to, count, sizeof(T), std::bit_cast<Bits>(value));
  }
}

/// A row-major tensor or copy, or `count` numbers that are `neutral` in the place of none.
template <class T>
const T* ContiguousOr(T neutral, const std::optional<TensorView>& tensor, int64_t count, OpScratch& scratch) {
  if (tensor) return Contiguous(*tensor, scratch).Data<const T>();
  T* const numbers = scratch.Get<T>(count);
  FillWith(scratch.place(), numbers, count, neutral);
  return numbers;
}

/// A list that was made on the host, where the op runs: itself, or a copy in the scratch memory.
template <class T>
const T* OnPlace(const T* list, int64_t count, OpScratch& scratch) {
  static_assert(sizeof(T) % 4 == 0);
  if (scratch.place().IsCpu()) return list;
  T* const copy = scratch.Get<T>(count);
  internal::MemoryOf(scratch.place()).write(scratch.place(), copy, list, count * static_cast<int64_t>(sizeof(T)));
  return copy;
}

/// A view with the dimensions in another order.
TensorView Permuted(const TensorView& tensor, const IntList& dims);

}  // namespace repdl

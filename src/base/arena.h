// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "repdl/tensor.h"

namespace repdl {

/// Scratch memory of the calling thread, given back when the object dies; objects must nest.
/// The memory stays with the thread, so that a kernel does not pay for fresh pages on each call.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  /// `count` elements, aligned to 64 bytes, not initialised, with 64 readable bytes behind them.
  template <class T>
  T* Get(int64_t count) {
    if (count < 0 || count > PTRDIFF_MAX / static_cast<int64_t>(sizeof(T)) - 256) throw std::bad_alloc();
    return static_cast<T*>(Bytes(static_cast<size_t>(count) * sizeof(T)));
  }
  /// A row-major tensor on the CPU.
  TensorView New(DType dtype, const IntList& shape) {
    TensorView view = MakeView(nullptr, dtype, shape);
    view.data = Get<std::byte>(view.numel() * ItemSize(dtype));
    return view;
  }

 private:
  void* Bytes(size_t size);

  size_t saved_block_;
  size_t saved_used_;
};

}  // namespace repdl

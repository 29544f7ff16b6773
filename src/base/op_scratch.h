// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "base/arena.h"
#include "base/place.h"

namespace repdl {

/// Scratch memory of an op, where the op runs. What the op starts on a device before this dies may use it.
class OpScratch {
 public:
  explicit OpScratch(const Place& place) : place_(place) {}
  ~OpScratch() {
    if (!on_device_.empty()) GiveBack();
  }
  OpScratch(const OpScratch&) = delete;
  OpScratch& operator=(const OpScratch&) = delete;

  const Place& place() const { return place_; }

  /// See Scratch; on a device nothing behind the elements is readable.
  template <class T>
  T* Get(int64_t count) {
    if (place_.IsCpu()) return scratch_.Get<T>(count);
    return static_cast<T*>(OnDevice(count, sizeof(T)));
  }
  TensorView New(DType dtype, const IntList& shape) {
    TensorView view = MakeView(nullptr, dtype, shape, place_.device);
    view.data = Get<std::byte>(view.numel() * ItemSize(dtype));
    return view;
  }

 private:
  void* OnDevice(int64_t count, int64_t item);
  void GiveBack();

  Place place_;
  Scratch scratch_;
  std::vector<void*> on_device_;
};

}  // namespace repdl

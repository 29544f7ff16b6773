// SPDX-License-Identifier: MIT
#pragma once

#include "base/arena.h"
#include "base/place.h"

namespace repdl {

/// Scratch memory of an op, where the op runs. There is none on a device yet: an op that asks for some raises there.
class OpScratch {
 public:
  explicit OpScratch(const Place& place) : place_(place) {}

  const Place& place() const { return place_; }

  /// See Scratch.
  template <class T>
  T* Get(int64_t count) {
    if (!place_.IsCpu()) ThrowNoMemory();
    return scratch_.Get<T>(count);
  }
  TensorView New(DType dtype, const IntList& shape) {
    if (!place_.IsCpu()) ThrowNoMemory();
    return scratch_.New(dtype, shape);
  }

 private:
  [[noreturn]] void ThrowNoMemory() const;

  Place place_;
  Scratch scratch_;
};

}  // namespace repdl

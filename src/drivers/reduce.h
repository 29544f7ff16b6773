// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "repdl/order.h"
#include "repdl/tensor.h"

namespace repdl {

/// Nested loops over some dimensions of a tensor, as few as the strides allow, outermost first.
struct Loops {
  IntList shape;
  IntList strides;

  void Append(int64_t size, int64_t stride);
  int64_t Count() const {
    int64_t count = 1;
    for (int64_t size : shape) count *= size;
    return count;
  }
  /// Where index `i` < Count() of the nest lies, in elements.
  int64_t Offset(int64_t i) const {
    int64_t offset = 0;
    int dim = shape.size() - 1;
    for (; dim > 0; --dim) {
      offset += i % shape[dim] * strides[dim];
      i /= shape[dim];
    }
    return dim < 0 ? 0 : offset + i * strides[0];
  }
  /// The innermost loop; one step of stride 1 if there is none.
  int64_t InnerSize() const { return shape.size() == 0 ? 1 : shape[shape.size() - 1]; }
  int64_t InnerStride() const { return shape.size() == 0 ? 1 : strides[shape.size() - 1]; }
};

/// What happens to a sum at its end: times `factor` (1 does nothing), then divided by `divisor`, then its square root.
/// The numbers are rounded to the type of the sum.
struct SumEnd {
  double factor = 1;
  double divisor = 1;
  bool root = false;
};

/// out[r] = Sum over the reduced loops, for each r of the kept loops.
struct ReduceArgs {
  DType dtype;
  const void* x;
  Loops kept, reduced;
  Order order;
  SumEnd end;
  void* out;

  template <class T>
  const T* X() const {
    return static_cast<const T*>(x);
  }
  template <class T>
  T* Out() const {
    return static_cast<T*>(out);
  }
};

/// Splits the dimensions of a tensor into kept and reduced ones.
void SplitLoops(const TensorView& x, const bool (&is_reduced)[kMaxRank], Loops& kept, Loops& reduced);
ReduceArgs MakeReduceArgs(const TensorView& x, const bool (&is_reduced)[kMaxRank], Order order);

}  // namespace repdl

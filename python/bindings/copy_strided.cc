// SPDX-License-Identifier: MIT
#include "copy_strided.h"

#include <nanobind/nanobind.h>

#include "callable.h"
#include "drivers/contiguous.h"
#include "repdl/error.h"
#include "repdl/threads.h"

namespace repdl {
namespace {

/// A type of that many bytes, to copy by.
DType WordOf(int64_t size) {
  switch (size) {
    case 1: return DType::kUInt8;
    case 2: return DType::kFloat16;
    case 4: return DType::kFloat32;
    case 8: return DType::kFloat64;
    default: throw ValueError(Message("no element has ", size, " bytes"));
  }
}

}  // namespace

void CopyStrided(uintptr_t from, const std::vector<int64_t>& shape, const std::vector<int64_t>& strides,
                 int64_t item_size, uintptr_t to) {
  if (shape.size() != strides.size()) throw ValueError("a shape has as many sizes as there are strides");
  IntList sizes(shape), steps(strides);
  if (item_size == 16) {  // two words
    for (int64_t& step : steps) step *= 2;
    sizes.Append(2);
    steps.Append(1);
    item_size = 8;
  }
  const DType word = WordOf(item_size);
  const TensorView read{reinterpret_cast<void*>(from), word, {}, sizes, steps};
  SetNumThreads(CurrentThreads());
  const nanobind::gil_scoped_release release;
  CopyElements(Place{"copy_strided", {}}, read, MakeView(reinterpret_cast<void*>(to), word, sizes));
}

}  // namespace repdl

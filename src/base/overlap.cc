// SPDX-License-Identifier: MIT
#include "repdl/overlap.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace repdl {
namespace {

/// Steps and sizes. In double, where no stride overflows; below 2^53, more than there is memory, it is exact.
using Dims = std::vector<std::pair<double, double>>;

/// Where each element lies behind the first.
std::vector<int64_t> Places(const Dims& dims) {
  std::vector<int64_t> places = {0};
  for (const auto& [step, size] : dims) {
    const size_t count = places.size();
    for (int64_t i = 1; i < static_cast<int64_t>(size); ++i) {
      for (size_t at = 0; at < count; ++at) places.push_back(places[at] + i * static_cast<int64_t>(step));
    }
  }
  return places;
}

/// Whether the dimensions are in order, and each step clears all that lies within.
bool IsNested(std::span<const int64_t> shape, std::span<const int64_t> strides) {
  double last = 0;
  for (size_t dim = shape.size(); dim-- > 0;) {
    if (shape[dim] == 1) continue;
    const double step = std::fabs(static_cast<double>(strides[dim]));
    if (step <= last) return false;
    last += static_cast<double>(shape[dim] - 1) * step;
  }
  return true;
}

}  // namespace

bool ElementsOverlap(std::span<const int64_t> shape, std::span<const int64_t> strides) {
  if (IsNested(shape, strides)) return false;  // most tensors
  Dims dims;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    if (shape[dim] == 0) return false;
    if (shape[dim] == 1) continue;
    dims.emplace_back(std::fabs(static_cast<double>(strides[dim])), static_cast<double>(shape[dim]));
  }
  std::sort(dims.begin(), dims.end());
  bool is_nested = true;
  double count = 1, last = 0;
  for (const auto& [step, size] : dims) {
    is_nested = is_nested && step > last;
    last += (size - 1) * step;
    count *= size;
  }
  if (is_nested) return false;
  if (count > last + 1) return true;
  std::vector<int64_t> places = Places(dims);  // rare, and no more of them than there is memory
  std::sort(places.begin(), places.end());
  return std::adjacent_find(places.begin(), places.end()) != places.end();
}

}  // namespace repdl

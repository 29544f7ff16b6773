// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "drivers/weighted_sum.h"

namespace repdl {

/// The elements [begin, end) of a window along a dimension, and the number that its average counts.
struct Window {
  int64_t begin, end, count;
};

/// The parts of a dimension of a size, which differ by one element at most; some overlap where they do not fit.
inline std::vector<Window> Parts(int64_t size, int64_t parts) {
  std::vector<Window> windows;
  for (int64_t k = 0; k < parts; ++k) {
    const int64_t begin = k * size / parts, end = ((k + 1) * size + parts - 1) / parts;
    windows.push_back({begin, end, end - begin});
  }
  return windows;
}

/// Along a dimension: which elements each window has, or which windows an element is in; and the counts of the windows.
struct PoolAxis {
  std::vector<std::vector<int64_t>> sums{{0}};
  std::vector<int64_t> counts{1};
  int64_t size = 1;  // numbers that are added

  PoolAxis() = default;
  PoolAxis(const std::vector<Window>& windows, int64_t length, bool gradient) {
    const auto number = static_cast<int64_t>(windows.size());
    sums.assign(gradient ? length : number, {});
    counts.clear();
    size = gradient ? number : length;
    for (int64_t k = 0; k < number; ++k) {
      counts.push_back(windows[k].count);
      for (int64_t at = windows[k].begin; at < windows[k].end; ++at) {
        gradient ? sums[at].push_back(k) : sums[k].push_back(at);
      }
    }
  }
};

/// The sums of two dimensions as one.
template <class T>
void AppendAxes(const PoolAxis& outer, const PoolAxis& inner, WeightedSumList<T>& list, std::vector<T>& counts) {
  for (const auto& some : outer.sums) {
    for (const auto& others : inner.sums) {
      for (const int64_t i : some) {
        for (const int64_t j : others) list.Append(i * inner.size + j, 1.0);
      }
      list.EndSum();
    }
  }
  for (const int64_t a : outer.counts) {
    for (const int64_t b : inner.counts) counts.push_back(static_cast<T>(a * b));
  }
}

}  // namespace repdl

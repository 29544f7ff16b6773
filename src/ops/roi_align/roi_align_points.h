// SPDX-License-Identifier: MIT
// The points of the bins of a box along an axis, on the host and in CUDA; the contract stands in roi_align.h.
#pragma once

#include "numerics/lanes/scalar.h"
#include "ops/roi_align/roi_align_kernel.h"

namespace repdl {

/// A box along an axis of `size` elements.
template <class T>
struct RoiBins {
  T start, bin;  // the length of each
  int64_t points, size;

  REPDL_LANE RoiBins(T from, T to, int64_t num_bins, int64_t size, const RoiSettings<T>& settings) : size(size) {
    const T offset = settings.aligned ? static_cast<T>(0.5) : T{0};
    start = scalar::Sub(scalar::Mul(from, settings.scale), offset);
    T length = scalar::Sub(scalar::Sub(scalar::Mul(to, settings.scale), offset), start);
    if (!settings.aligned && length < T{1}) length = 1;
    bin = scalar::Div(length, static_cast<T>(num_bins));
    points = settings.sampling_ratio > 0 ? settings.sampling_ratio : PointsOf(bin);
  }

  /// add(element, weight) for the neighbours of the points of bin i, point after point.
  template <class F>
  REPDL_LANE void ForNeighbours(int64_t i, const F& add) const {
    const T base = scalar::Add(start, scalar::Mul(static_cast<T>(i), bin));
    int64_t begin = 0;
    if (bin > T{0} && points > 0 && PlaceOf(base, 0) < T{-1}) {
      // They ascend: those before the image, of which a huge box has many, are skipped.
      for (int64_t end = points; begin < end;) {
        const int64_t middle = begin + (end - begin) / 2;
        if (PlaceOf(base, middle) < T{-1}) {
          begin = middle + 1;
        } else {
          end = middle;
        }
      }
    }
    for (int64_t k = begin; k < points; ++k) {
      T p = PlaceOf(base, k);
      if (!(p >= T{-1} && p <= static_cast<T>(size))) {
        if (!(bin < T{0})) break;  // nor will the others lie in the image
        continue;
      }
      if (p < T{0}) p = 0;
      const auto element = static_cast<int64_t>(p);
      if (element >= size - 1) {
        add(size - 1, 1.0);
      } else {
        const double rest = scalar::Sub(static_cast<double>(p), static_cast<double>(element));
        add(element, scalar::Sub(1.0, rest));
        add(element + 1, rest);
      }
    }
  }
  /// Of an element with the sum of its weights.
  REPDL_LANE T WeightOf(double sum) const { return static_cast<T>(scalar::Div(sum, static_cast<double>(points))); }

 private:
  REPDL_LANE T PlaceOf(T base, int64_t k) const {
    const T of_bin = scalar::Mul(scalar::Add(static_cast<T>(k), static_cast<T>(0.5)), bin);
    return scalar::Add(base, scalar::Div(of_bin, static_cast<T>(points)));
  }
  /// The bin rounded up, within bounds.
  REPDL_LANE static int64_t PointsOf(T bin) {
    if (!(bin > T{0})) return 0;
    if (bin >= static_cast<T>(kMaxRoiPoints)) return kMaxRoiPoints;
    const auto whole = static_cast<int64_t>(bin);
    return static_cast<T>(whole) < bin ? whole + 1 : whole;
  }
};

}  // namespace repdl

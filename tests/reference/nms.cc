// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "op.h"

namespace repdl::reference {
namespace {

template <class T>
struct Rectangle {
  T x1, y1, x2, y2;
  T Area() const { return (x2 - x1) * (y2 - y1); }
};

/// What two intervals have in common; never below +0.
template <class T>
T Common(T a1, T a2, T b1, T b2) {
  const T common = std::min(a2, b2) - std::max(a1, b1);
  return common > 0 ? common : T{0};
}

template <class T>
bool Covers(const Rectangle<T>& a, const Rectangle<T>& b, double threshold) {
  for (const T x : {a.x1, a.y1, a.x2, a.y2, b.x1, b.y1, b.x2, b.y2}) {
    if (std::isnan(x)) return false;
  }
  const T width = Common(a.x1, a.x2, b.x1, b.x2), height = Common(a.y1, a.y2, b.y1, b.y2);
  const T inter = width * height;
  const T area_of_both = a.Area() + b.Area();
  const T quotient = inter / (area_of_both - inter);
  return static_cast<double>(quotient) > threshold;
}

}  // namespace

template <class T>
static Results RunNms(const Case& test_case) {
  const Arguments args(test_case);
  const Numbers<T> boxes = args.NumbersOf<T>("boxes"), scores = args.NumbersOf<T>("scores");
  const double threshold = args.Number("iou_threshold");
  Indices order;
  for (size_t i = 0; i < scores.size(); ++i) order.push_back(static_cast<int64_t>(i));
  // A NaN counts as higher than every number, and equal scores keep the order of their places.
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
    const T a = scores[i], b = scores[j];
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && !std::isnan(b);
    return a > b;
  });
  const auto box = [&](int64_t i) {
    return Rectangle<T>{boxes[4 * i], boxes[4 * i + 1], boxes[4 * i + 2], boxes[4 * i + 3]};
  };
  Indices kept;
  for (const int64_t i : order) {
    const bool covered =
        std::any_of(kept.begin(), kept.end(), [&](int64_t k) { return Covers(box(k), box(i), threshold); });
    if (!covered) kept.push_back(i);
  }
  const auto count = static_cast<int64_t>(kept.size());
  kept.resize(scores.size(), -1);
  Results results;
  Append(results, kept, args.OutputShape(0));
  Append(results, Indices{count}, args.OutputShape(1));
  return results;
}

static const Op kOps[] = {{"nms", REPDL_EITHER(RunNms)}};

}  // namespace repdl::reference

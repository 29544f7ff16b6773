// SPDX-License-Identifier: MIT
// Samples at the places of a grid.
#include <cmath>
#include <limits>

#include "op.h"
#include "sums.h"

namespace repdl::reference {
namespace {

constexpr int64_t kNowhere = -1;

template <class T>
struct Neighbour {
  int64_t index;  // along an axis, or kNowhere
  T weight, slope;
};

struct Settings {
  std::string_view mode, padding;
  bool corners;

  explicit Settings(const Arguments& args)
      : mode(args.Text("mode")), padding(args.Text("padding_mode")), corners(args.Flag("align_corners")) {}

  template <class T>
  T Place(T g, int64_t size) const {
    const T n = static_cast<T>(size), one = 1, two = 2;
    if (corners) return (g + one) * static_cast<T>(static_cast<double>(size - 1) / 2.0);
    return ((g + one) * n - one) / two;
  }

  /// Brings a place into the image; returns the derivative.
  template <class T>
  T Hold(T& x, int64_t size) const {
    T sign = 1;
    if (padding == "zeros") return sign;
    const T last = static_cast<T>(size - 1);
    if (padding == "reflection") {
      const T low = corners ? T{0} : T{-0.5}, span = corners ? last : static_cast<T>(size);
      if (span == 0) {
        x = 0;
        return 0;
      }
      if (x < low) sign = -1;
      const T away = std::fabs(x - low), rest = std::fmod(away, span), flips = std::floor(away / span);
      const bool odd = std::fmod(flips, T{2}) != 0;
      if (odd) sign = -sign;
      x = odd ? (span - rest) + low : rest + low;
    }
    const bool inside = x > 0 && x < last;
    if (x < 0) x = 0;
    if (x > last) x = last;
    return inside ? sign : T{0};
  }

  template <class T>
  static int64_t Index(T x, int64_t size) {
    return x >= 0 && x <= static_cast<T>(size - 1) ? static_cast<int64_t>(x) : kNowhere;
  }

  template <class T>
  std::vector<Neighbour<T>> Along(T g, int64_t size) const {
    const T a = static_cast<T>(-0.75);
    const auto near = [a](T x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
    const auto far = [a](T x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
    const auto near_slope = [a](T x) { return (3 * (a + 2) * x - 2 * (a + 3)) * x; };
    const auto far_slope = [a](T x) { return (3 * a * x - 10 * a) * x + 8 * a; };
    T x = Place(g, size);
    if (mode == "bicubic") {
      const T low = std::floor(x), t = x - low;
      std::vector<Neighbour<T>> found = {{0, far(t + 1), far_slope(t + 1)},
                                         {0, near(t), near_slope(t)},
                                         {0, near(1 - t), -near_slope(1 - t)},
                                         {0, far(2 - t), -far_slope(2 - t)}};
      for (int k = 0; k < 4; ++k) {
        T at = low + static_cast<T>(k - 1);
        Hold(at, size);
        found[k].index = Index(at, size);
      }
      return found;
    }
    const T sign = Hold(x, size);
    if (mode == "nearest") return {{Index(std::nearbyint(x), size), 1, 0}};
    const T low = std::floor(x), next = low + 1;
    return {{Index(low, size), next - x, -sign}, {Index(next, size), x - low, sign}};
  }
};

/// A neighbour of a place: its element, and the derivatives of its weight along x, y and z.
template <class T>
struct Corner {
  int64_t element;
  T weight;
  T slopes[3];
};

template <class T>
struct Places {
  int64_t count = 1;
  int rank;
  std::vector<std::vector<Corner<T>>> corners;  // of each place of each sample; kNowhere outside
  std::vector<bool> lost;

  Places(const Arguments& args, const IntList& sizes) : rank(sizes.size()) {
    const Settings settings(args);
    const Numbers<T> grid = args.NumbersOf<T>("grid");
    const IntList shape = args.Shape("grid");
    for (int i = 1; i <= rank; ++i) count *= shape[i];
    for (int64_t p = 0; p < shape[0] * count; ++p) {
      std::vector<Neighbour<T>> along[3] = {{{0, 1, 0}}, {{0, 1, 0}}, {{0, 1, 0}}};
      bool is_lost = false;
      for (int d = 0; d < rank; ++d) {
        const T g = grid[p * rank + d];
        is_lost = is_lost || std::isnan(g);
        along[d] = settings.Along(g, sizes[rank - 1 - d]);
      }
      std::vector<Corner<T>> found;
      for (const Neighbour<T>& z : along[2]) {
        for (const Neighbour<T>& y : along[1]) {
          for (const Neighbour<T>& x : along[0]) {
            const bool outside = x.index == kNowhere || y.index == kNowhere || z.index == kNowhere;
            const int64_t element = (z.index * sizes[rank - 2] + y.index) * sizes[rank - 1] + x.index;
            found.push_back(
                {outside ? kNowhere : element,
                 x.weight * y.weight * z.weight,
                 {x.slope * y.weight * z.weight, x.weight * y.slope * z.weight, x.weight * y.weight * z.slope}});
          }
        }
      }
      corners.push_back(found);
      lost.push_back(is_lost);
    }
  }
};

IntList Inner(const IntList& shape) { return IntList(std::span(shape.begin() + 2, shape.end())); }

}  // namespace

template <class T>
static Results RunGridSample(const Case& test_case) {
  const Arguments args(test_case);
  const IntList shape = args.Shape("input"), sizes = Inner(shape);
  const Numbers<T> input = args.NumbersOf<T>("input");
  const Places<T> places(args, sizes);
  Numbers<T> output;
  for (int64_t plane = 0; plane < shape[0] * shape[1]; ++plane) {
    for (int64_t i = 0; i < places.count; ++i) {
      const int64_t p = plane / shape[1] * places.count + i;
      T sum = 0;
      for (size_t k = 0; k < places.corners[p].size(); ++k) {
        const Corner<T>& corner = places.corners[p][k];
        const T term = corner.element == kNowhere ? 0 : input[plane * Size(sizes) + corner.element] * corner.weight;
        sum = k == 0 ? term : sum + term;
      }
      output.push_back(places.lost[p] ? std::numeric_limits<T>::quiet_NaN() : sum);
    }
  }
  Results results;
  Append(results, output, args.OutputShape());
  return results;
}

template <class T>
static Results RunGridSampleGradInput(const Case& test_case) {
  const Arguments args(test_case);
  const IntList sizes = args.List("input_size"), shape = args.OutputShape();
  const Numbers<T> grad = args.NumbersOf<T>("grad_output");
  const Places<T> places(args, sizes);
  Numbers<T> sums(Size(shape), T{0});
  const size_t corners = places.corners.empty() ? 0 : places.corners[0].size();
  for (int64_t plane = 0; plane < shape[0] * shape[1]; ++plane) {
    for (size_t k = 0; k < corners; ++k) {
      for (int64_t i = 0; i < places.count; ++i) {
        const Corner<T>& corner = places.corners[plane / shape[1] * places.count + i][k];
        if (corner.element == kNowhere) continue;
        T& sum = sums[plane * Size(sizes) + corner.element];
        sum = sum + grad[plane * places.count + i] * corner.weight;
      }
    }
  }
  Results results;
  Append(results, sums, shape);
  return results;
}

template <class T>
static Results RunGridSampleGradGrid(const Case& test_case) {
  const Arguments args(test_case);
  const IntList shape = args.Shape("input"), sizes = Inner(shape);
  const Numbers<T> input = args.NumbersOf<T>("input"), grad = args.NumbersOf<T>("grad_output");
  const Places<T> places(args, sizes);
  const bool nearest = args.Text("mode") == "nearest", corners = args.Flag("align_corners");
  Numbers<T> output;
  for (int64_t p = 0; p < shape[0] * places.count; ++p) {
    const int64_t n = p / places.count, i = p % places.count;
    T sums[3] = {0, 0, 0};
    for (const Corner<T>& corner : places.corners[p]) {
      if (nearest || corner.element == kNowhere) continue;
      SumOf<T> along(args.TheOrder());
      for (int64_t c = n * shape[1]; c < (n + 1) * shape[1]; ++c) {
        along.Add(input[c * Size(sizes) + corner.element] * grad[c * places.count + i]);
      }
      const T of_channels = along.Result();
      for (int d = 0; d < places.rank; ++d) sums[d] = sums[d] + of_channels * corner.slopes[d];
    }
    for (int d = 0; d < places.rank; ++d) {
      const auto size = static_cast<double>(sizes[places.rank - 1 - d] - (corners ? 1 : 0));
      output.push_back(places.lost[p] && !nearest ? std::numeric_limits<T>::quiet_NaN()
                                                  : sums[d] * static_cast<T>(size / 2.0));
    }
  }
  Results results;
  Append(results, output, args.OutputShape());
  return results;
}

static const Op kOps[] = {{"grid_sample", REPDL_EITHER(RunGridSample)},
                          {"grid_sample_grad_input", REPDL_EITHER(RunGridSampleGradInput)},
                          {"grid_sample_grad_grid", REPDL_EITHER(RunGridSampleGradGrid)}};

}  // namespace repdl::reference

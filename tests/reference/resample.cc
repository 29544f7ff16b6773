// SPDX-License-Identifier: MIT
// Resizing by interpolation.
#include <algorithm>
#include <cmath>

#include "functions.h"
#include "op.h"

namespace repdl::reference {
namespace {

struct Neighbour {
  int64_t index;
  double weight;
};
using Neighbours = std::vector<std::vector<Neighbour>>;  // of each element of the result

/// Keys' cubic of a distance below 1, and of one from 1 to 2.
double Near(double x, double a) { return ((a + 2) * x - (a + 3)) * x * x + 1; }
double Far(double x, double a) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; }

/// Lanczos' window of three lobes, of a distance below 3.
double Lanczos(double x) {
  static const Function& sinpi = *FindFunction("sinpi");
  if (x == 0) return 1;
  const double sines = Rounded(sinpi, x, 0.0, kFloat64) * Rounded(sinpi, x / 3, 0.0, kFloat64);
  return 3 * sines / (9.869604401089358 * (x * x));
}

struct Axis {
  bool cubic, antialias, align_corners;
  double factor;  // 0 for none
  bool nearest = false, exact = false, lanczos = false;

  std::vector<Neighbour> OfNearest(int64_t i, int64_t size, int64_t to) const {
    const float scale = factor > 0 ? static_cast<float>(1 / factor) : static_cast<float>(size) / static_cast<float>(to);
    float place = static_cast<float>(i);
    if (exact) place = place + 0.5F;
    place = std::floor(place * scale);
    return {{place > static_cast<float>(size - 1) ? size - 1 : static_cast<int64_t>(place), 1.0}};
  }

  double Scale(int64_t size, int64_t to) const {
    if (align_corners) return to > 1 ? static_cast<double>(size - 1) / static_cast<double>(to - 1) : 0.0;
    return factor > 0 ? 1 / factor : static_cast<double>(size) / static_cast<double>(to);
  }

  std::vector<Neighbour> OfSmooth(int64_t i, int64_t size, double scale) const {
    const double stretch = scale > 1 ? scale : 1, reach = (lanczos ? 3 : cubic ? 2 : 1) * stretch;
    const double centre = (static_cast<double>(i) + 0.5) * scale;
    const double low = std::trunc(centre - reach + 0.5), high = std::trunc(centre + reach + 0.5);
    std::vector<Neighbour> found;
    double total = 0;
    for (int64_t j = 0; j < size; ++j) {
      if (static_cast<double>(j) < low || static_cast<double>(j) >= high) continue;
      const double x = std::fabs((static_cast<double>(j) - centre + 0.5) / stretch);
      const double weight = lanczos  ? (x < 3 ? Lanczos(x) : 0)
                            : !cubic ? (x < 1 ? 1 - x : 0)
                            : x < 1  ? Near(x, -0.5)
                            : x < 2  ? Far(x, -0.5)
                                     : 0;
      found.push_back({j, weight});
      total += weight;
    }
    for (Neighbour& one : found) {
      if (total != 0) one.weight /= total;
    }
    return found;
  }

  std::vector<Neighbour> Of(int64_t i, int64_t size, int64_t to) const {
    if (nearest) return OfNearest(i, size, to);
    const double scale = Scale(size, to), at = static_cast<double>(i);
    if (antialias) return OfSmooth(i, size, scale);
    double place = align_corners ? at * scale : (at + 0.5) * scale - 0.5;
    if (!cubic && place < 0) place = 0;
    double low = std::floor(place);
    if (!cubic && low > static_cast<double>(size - 1)) low = static_cast<double>(size - 1);
    const auto held = [&](int k) {
      const double index = low + k;
      return index < 0 ? 0 : index > static_cast<double>(size - 1) ? size - 1 : static_cast<int64_t>(index);
    };
    const double t = place - low;
    if (cubic) {
      return {{held(-1), Far(t + 1, -0.75)},
              {held(0), Near(t, -0.75)},
              {held(1), Near(1 - t, -0.75)},
              {held(2), Far(2 - t, -0.75)}};
    }
    const double w = t > 1 ? 1 : t;
    return {{held(0), 1 - w}, {held(1), w}};
  }

  /// Nothing for a dimension that stays as it is.
  Neighbours All(int64_t size, int64_t to) const {
    Neighbours all;
    if (size == to && !nearest && (!cubic || antialias)) return all;
    for (int64_t i = 0; i < to; ++i) all.push_back(Of(i, size, to));
    return all;
  }
};

Axis AxisOf(const Arguments& args, int i, int resized) {
  static constexpr std::string_view kScales[] = {"scales_d", "scales_h", "scales_w"};
  const std::string_view name = kScales[3 - resized + i];
  return {args.Text("mode") == "cubic",
          args.Flag("antialias"),
          args.Flag("align_corners"),
          args.Has(name) ? args.Number(name) : 0.0,
          args.Text("mode").starts_with("nearest"),
          args.Text("mode") == "nearest-exact",
          args.Text("mode") == "lanczos"};
}

template <class T>
Numbers<T> Gathered(const Numbers<T>& row, const Neighbours& all) {
  Numbers<T> result;
  for (const std::vector<Neighbour>& some : all) {
    T sum = 0;
    for (size_t k = 0; k < some.size(); ++k) {
      const T term = row[some[k].index] * static_cast<T>(some[k].weight);
      sum = k == 0 ? term : sum + term;
    }
    result.push_back(sum);
  }
  return result;
}

template <class T>
Numbers<T> Spread(const Numbers<T>& grad, const Neighbours& all, int64_t size) {
  Numbers<T> result(size, T{0});
  size_t most = 0;
  for (const std::vector<Neighbour>& some : all) most = std::max(most, some.size());
  for (size_t k = 0; k < most; ++k) {
    for (size_t i = 0; i < all.size(); ++i) {
      if (k >= all[i].size()) continue;
      T& sum = result[all[i][k].index];
      sum = sum + grad[i] * static_cast<T>(all[i][k].weight);
    }
  }
  return result;
}

template <class T>
Results Run(const Case& test_case, std::string_view name, std::string_view sizes_name, bool gradient) {
  const Arguments args(test_case);
  Numbers<T> data = args.NumbersOf<T>(name);
  IntList shape = args.Shape(name);
  const IntList sizes = args.List(sizes_name);
  const int64_t given = args.Int("dim"), first = given < 0 ? given + shape.size() : given;
  const int resized = sizes.size();
  for (int step = 0; step < resized; ++step) {
    const int i = gradient ? step : resized - 1 - step;
    const int64_t dim = first + i, from = shape[dim], to = sizes[i];
    const Axis axis = AxisOf(args, i, resized);
    const Neighbours all = gradient ? axis.All(to, from) : axis.All(from, to);
    if (all.empty()) continue;
    const Layout in = Layout::Along(shape, dim);
    shape[dim] = to;
    const Layout out = Layout::Along(shape, dim);
    Numbers<T> result(Size(shape));
    for (int64_t r = 0; r < in.rows(); ++r) {
      Numbers<T> row;
      for (int64_t j = 0; j < from; ++j) row.push_back(data[in.At(r, j)]);
      row = gradient ? Spread(row, all, to) : Gathered(row, all);
      for (int64_t j = 0; j < to; ++j) result[out.At(r, j)] = row[j];
    }
    data = result;
  }
  Results results;
  Append(results, data, shape);
  return results;
}

}  // namespace

template <class T>
static Results RunResample(const Case& test_case) {
  return Run<T>(test_case, "input", "size", false);
}

template <class T>
static Results RunResampleGrad(const Case& test_case) {
  return Run<T>(test_case, "grad_output", "input_size", true);
}

static const Op kOps[] = {{"resample", REPDL_EITHER(RunResample)}, {"resample_grad", REPDL_EITHER(RunResampleGrad)}};

}  // namespace repdl::reference

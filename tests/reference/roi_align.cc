// SPDX-License-Identifier: MIT
// Means over the bins of boxes in images.
#include <cmath>
#include <map>

#include "op.h"

namespace repdl::reference {
namespace {

/// The weights of a bin, by element.
template <class T>
using Weights = std::map<int64_t, T>;

template <class T>
std::vector<Weights<T>> Along(const Arguments& args, T from, T to, int64_t bins, int64_t size) {
  const bool aligned = args.Flag("aligned");
  const T scale = static_cast<T>(args.Number("spatial_scale")), offset = aligned ? T{0.5} : T{0};
  const T start = from * scale - offset, end = to * scale - offset;
  T length = end - start;
  if (!aligned && length < 1) length = 1;
  const T bin = length / static_cast<T>(bins);
  double n = static_cast<double>(args.Int("sampling_ratio"));
  if (n <= 0) n = bin > 0 ? std::fmin(std::ceil(static_cast<double>(bin)), 65536.0) : 0;
  std::vector<Weights<T>> all;
  for (int64_t i = 0; i < bins; ++i) {
    const T base = start + static_cast<T>(i) * bin;
    std::map<int64_t, double> sums;
    for (double k = 0; k < n; ++k) {
      const T half = static_cast<T>(k) + T{0.5};
      T p = base + half * bin / static_cast<T>(n);
      if (std::isnan(p) || p < -1 || p > static_cast<T>(size)) continue;
      if (p < 0) p = 0;
      const double low = std::floor(static_cast<double>(p)), rest = static_cast<double>(p) - low;
      if (low >= static_cast<double>(size - 1)) {
        sums[size - 1] += 1;
      } else {
        sums[static_cast<int64_t>(low)] += 1 - rest;
        sums[static_cast<int64_t>(low) + 1] += rest;
      }
    }
    Weights<T> weights;
    for (const auto& [element, sum] : sums) weights[element] = static_cast<T>(sum / n);
    all.push_back(weights);
  }
  return all;
}

/// Both axes of each box.
template <class T>
struct Bins {
  Bins(const Arguments& args, int64_t rows, int64_t columns, int64_t height, int64_t width) {
    const Numbers<T> boxes = args.NumbersOf<T>("boxes");
    for (size_t r = 0; r < boxes.size(); r += 4) {
      x.push_back(Along(args, boxes[r], boxes[r + 2], columns, width));
      y.push_back(Along(args, boxes[r + 1], boxes[r + 3], rows, height));
    }
  }
  std::vector<std::vector<Weights<T>>> x, y;
};

}  // namespace

template <class T>
static Results RunRoiAlign(const Case& test_case) {
  const Arguments args(test_case);
  const IntList shape = args.Shape("input"), out = args.OutputShape();
  const Numbers<T> input = args.NumbersOf<T>("input");
  const Indices images = args.IndicesOf("indices");
  const Bins<T> bins(args, out[2], out[3], shape[2], shape[3]);
  Numbers<T> output;
  for (int64_t r = 0; r < out[0]; ++r) {
    for (int64_t c = 0; c < out[1]; ++c) {
      const int64_t plane = (images[r] * shape[1] + c) * shape[2] * shape[3];
      for (int64_t i = 0; i < out[2]; ++i) {
        for (int64_t j = 0; j < out[3]; ++j) {
          T total = 0;
          bool any_row = false;
          for (const auto& [row, of_row] : bins.y[r][i]) {
            T sum = 0;
            bool any_column = false;
            for (const auto& [column, of_column] : bins.x[r][j]) {
              const T product = of_column * input[plane + row * shape[3] + column];
              sum = any_column ? sum + product : product;
              any_column = true;
            }
            const T product = of_row * sum;
            total = any_row ? total + product : product;
            any_row = true;
          }
          output.push_back(total);
        }
      }
    }
  }
  Results results;
  Append(results, output, out);
  return results;
}

template <class T>
static Results RunRoiAlignGrad(const Case& test_case) {
  const Arguments args(test_case);
  const IntList grad_shape = args.Shape("grad_output"), shape = args.OutputShape();
  const Numbers<T> grad = args.NumbersOf<T>("grad_output");
  const Indices images = args.IndicesOf("indices");
  const int64_t rows = grad_shape[2], columns = grad_shape[3];
  const Bins<T> bins(args, rows, columns, shape[2], shape[3]);
  Numbers<T> totals(Size(shape), T{0});
  for (int64_t r = 0; r < grad_shape[0]; ++r) {
    // Of each row and column that a bin has, the bins and their weights.
    std::map<int64_t, Weights<T>> by_row, by_column;
    for (int64_t i = 0; i < rows; ++i) {
      for (const auto& [row, weight] : bins.y[r][i]) by_row[row][i] = weight;
    }
    for (int64_t j = 0; j < columns; ++j) {
      for (const auto& [column, weight] : bins.x[r][j]) by_column[column][j] = weight;
    }
    for (int64_t c = 0; c < shape[1]; ++c) {
      for (const auto& [row, of_rows] : by_row) {
        for (const auto& [column, of_columns] : by_column) {
          T outer = 0;
          for (const auto& [i, of_row] : of_rows) {
            T inner = 0;
            for (const auto& [j, of_column] : of_columns) {
              inner = inner + of_column * grad[((r * shape[1] + c) * rows + i) * columns + j];
            }
            outer = outer + of_row * inner;
          }
          T& total = totals[((images[r] * shape[1] + c) * shape[2] + row) * shape[3] + column];
          total = total + outer;
        }
      }
    }
  }
  Results results;
  Append(results, totals, shape);
  return results;
}

static const Op kOps[] = {{"roi_align", REPDL_EITHER(RunRoiAlign)}, {"roi_align_grad", REPDL_EITHER(RunRoiAlignGrad)}};

}  // namespace repdl::reference

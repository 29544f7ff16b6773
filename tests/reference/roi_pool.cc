// SPDX-License-Identifier: MIT
// The largest elements in the bins of boxes in images.
#include <cmath>

#include "op.h"

namespace repdl::reference {
namespace {

/// From the first element of a bin to the one behind its last, in the image or not.
struct Part {
  double begin, end;
};

template <class T>
std::vector<Part> Along(T from, T to, T scale, int64_t bins) {
  const T start = from * scale, end = to * scale;
  if (std::isnan(start) || std::isnan(end)) return std::vector<Part>(static_cast<size_t>(bins), Part{0, 0});
  const auto round = [](T x) { return std::round(std::fmax(std::fmin(static_cast<double>(x), 0x1p30), -0x1p30)); };
  const double first = round(start), length = std::fmax(round(end) - first + 1, 1);
  const T bin = static_cast<T>(length) / static_cast<T>(bins);
  std::vector<Part> parts;
  for (int64_t i = 0; i < bins; ++i) {
    parts.push_back({first + std::floor(static_cast<double>(static_cast<T>(i) * bin)),
                     first + std::ceil(static_cast<double>(static_cast<T>(i + 1) * bin))});
  }
  return parts;
}

bool Has(const Part& part, int64_t element) {
  return part.begin <= static_cast<double>(element) && static_cast<double>(element) < part.end;
}

}  // namespace

template <class T>
static Results RunRoiPool(const Case& test_case) {
  const Arguments args(test_case);
  const IntList shape = args.Shape("input"), out = args.OutputShape(0);
  const Numbers<T> input = args.NumbersOf<T>("input"), boxes = args.NumbersOf<T>("boxes");
  const Indices images = args.IndicesOf("indices");
  const T scale = static_cast<T>(args.Number("spatial_scale"));
  Numbers<T> output;
  Indices places;
  for (int64_t r = 0; r < out[0]; ++r) {
    const std::vector<Part> x = Along(boxes[4 * r], boxes[4 * r + 2], scale, out[3]);
    const std::vector<Part> y = Along(boxes[4 * r + 1], boxes[4 * r + 3], scale, out[2]);
    for (int64_t c = 0; c < out[1]; ++c) {
      const int64_t plane = (images[r] * shape[1] + c) * shape[2] * shape[3];
      for (int64_t i = 0; i < out[2]; ++i) {
        for (int64_t j = 0; j < out[3]; ++j) {
          T largest = 0;
          int64_t place = -1;
          for (int64_t p = 0; p < shape[2] * shape[3]; ++p) {
            if (!Has(y[i], p / shape[3]) || !Has(x[j], p % shape[3])) continue;
            const T value = input[plane + p];
            if (place == -1 || value > largest || (std::isnan(value) && !std::isnan(largest))) {
              largest = value;
              place = p;
            }
          }
          output.push_back(largest);
          places.push_back(place);
        }
      }
    }
  }
  Results results;
  Append(results, output, out);
  Append(results, places, out);
  return results;
}

template <class T>
static Results RunRoiPoolGrad(const Case& test_case) {
  const Arguments args(test_case);
  const IntList grad_shape = args.Shape("grad_output"), shape = args.OutputShape();
  const Numbers<T> grad = args.NumbersOf<T>("grad_output");
  const Indices images = args.IndicesOf("indices"), places = args.IndicesOf("places");
  const int64_t bins = grad_shape[2] * grad_shape[3], size = shape[2] * shape[3];
  Numbers<T> sums(Size(shape), T{0});
  for (size_t at = 0; at < grad.size(); ++at) {
    const int64_t c = static_cast<int64_t>(at) / bins % shape[1], r = static_cast<int64_t>(at) / bins / shape[1];
    if (places[at] == -1) continue;
    T& sum = sums[(images[r] * shape[1] + c) * size + places[at]];
    sum = sum + grad[at];
  }
  Results results;
  Append(results, sums, shape);
  return results;
}

static const Op kOps[] = {{"roi_pool", REPDL_EITHER(RunRoiPool)}, {"roi_pool_grad", REPDL_EITHER(RunRoiPoolGrad)}};

}  // namespace repdl::reference

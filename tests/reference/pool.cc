// SPDX-License-Identifier: MIT
#include "pool.h"

#include <cmath>
#include <limits>
#include <stdexcept>

#include "op.h"
#include "parallel.h"

namespace repdl::reference {
namespace {

constexpr int64_t kNoPlace = -1;  // of a window outside the image

}  // namespace

template <class T>
PooledOf<T> MaxPool2d(const Numbers<T>& input, const PoolShape& s) {
  PooledOf<T> pooled;
  pooled.output.resize(s.images * s.out_h * s.out_w);
  pooled.indices.resize(s.images * s.out_h * s.out_w);
  ForEach(s.images, [&](int64_t n) {
    const T* image = input.data() + n * s.height * s.width;
    for (int64_t p = 0; p < s.out_h; ++p) {
      for (int64_t q = 0; q < s.out_w; ++q) {
        T best = -std::numeric_limits<T>::infinity();
        int64_t place = kNoPlace;
        for (int64_t u = 0; u < s.kernel_h; ++u) {
          const int64_t h = p * s.stride_h - s.pad_h + u * s.dilation_h;
          for (int64_t v = 0; v < s.kernel_w; ++v) {
            const int64_t w = q * s.stride_w - s.pad_w + v * s.dilation_w;
            if (h < 0 || h >= s.height || w < 0 || w >= s.width) continue;
            const T x = image[h * s.width + w];
            const bool first_nan = std::isnan(x) && !std::isnan(best);
            if (place == kNoPlace || first_nan || x > best) {
              best = x;
              place = h * s.width + w;
            }
          }
        }
        const int64_t at = (n * s.out_h + p) * s.out_w + q;
        pooled.output[at] = best;
        pooled.indices[at] = place;
      }
    }
  });
  return pooled;
}

template <class T>
Numbers<T> MaxPool2dGrad(const Numbers<T>& grad_output, const Indices& indices, int64_t images, int64_t places,
                         int64_t outputs) {
  Numbers<T> grad_input(images * places, T{0});
  for (int64_t n = 0; n < images; ++n) {
    for (int64_t i = 0; i < outputs; ++i) {
      const int64_t place = indices[n * outputs + i];
      if (place == kNoPlace) continue;
      if (place < 0 || place >= places) throw std::logic_error("an index of max_pool2d is outside the image");
      T& sum = grad_input[n * places + place];
      sum = sum + grad_output[n * outputs + i];
    }
  }
  return grad_input;
}

template Pooled MaxPool2d(const Floats& input, const PoolShape& s);
template Floats MaxPool2dGrad(const Floats& grad_output, const Indices& indices, int64_t images, int64_t places,
                              int64_t outputs);

template <class T>
static Results RunMaxPool2d(const Case& test_case) {
  const Arguments args(test_case);
  const IntList input = args.Shape("input");
  const IntList output = args.OutputShape(0);
  const IntList kernel = args.Pair("kernel_size");
  const IntList stride = args.Pair("stride");
  const IntList padding = args.Pair("padding");
  const IntList dilation = args.Pair("dilation");
  const int rank = input.size();

  PoolShape s;
  s.images = 1;
  for (int d = 0; d < rank - 2; ++d) s.images *= input[d];
  s.height = input[rank - 2];
  s.width = input[rank - 1];
  s.out_h = output[rank - 2];
  s.out_w = output[rank - 1];
  s.kernel_h = kernel[0];
  s.kernel_w = kernel[1];
  s.stride_h = stride[0] == 0 ? kernel[0] : stride[0];  // the default
  s.stride_w = stride[1] == 0 ? kernel[1] : stride[1];
  s.pad_h = padding[0];
  s.pad_w = padding[1];
  s.dilation_h = dilation[0];
  s.dilation_w = dilation[1];

  const PooledOf<T> pooled = MaxPool2d<T>(args.NumbersOf<T>("input"), s);
  Results results;
  Append(results, pooled.output, output);
  Append(results, pooled.indices, args.OutputShape(1));
  return results;
}

template <class T>
static Results RunMaxPool2dGrad(const Case& test_case) {
  const Arguments args(test_case);
  const IntList shape = args.List("input_shape");
  const IntList pooled = args.Shape("grad_output");
  const int rank = shape.size();
  int64_t images = 1;
  for (int d = 0; d < rank - 2; ++d) images *= shape[d];
  Results results;
  Append(results,
         MaxPool2dGrad<T>(args.NumbersOf<T>("grad_output"), args.IndicesOf("indices"), images,
                          shape[rank - 2] * shape[rank - 1], pooled[rank - 2] * pooled[rank - 1]),
         shape);
  return results;
}

static const Op kOps[] = {{"max_pool2d", REPDL_EITHER(RunMaxPool2d)},
                          {"max_pool2d_grad", REPDL_EITHER(RunMaxPool2dGrad)}};

}  // namespace repdl::reference

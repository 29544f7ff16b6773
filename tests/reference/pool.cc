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

namespace {

/// The pooled dimensions of a tensor, as depth, height and width, and what is before and behind them.
struct Planes {
  int64_t before = 1, behind = 1;
  int64_t sizes[3] = {1, 1, 1};

  Planes(const Arguments& args, const IntList& shape, int rank) {
    const int64_t given = args.Int("dim"), first = given < 0 ? given + shape.size() : given;
    for (int i = 0; i < shape.size(); ++i) {
      if (i < first) {
        before *= shape[i];
      } else if (i < first + rank) {
        sizes[3 - rank + i - static_cast<int>(first)] = shape[i];
      } else {
        behind *= shape[i];
      }
    }
  }
  int64_t places() const { return sizes[0] * sizes[1] * sizes[2]; }
  int64_t At(int64_t plane, int64_t place, int64_t inner) const { return (plane * places() + place) * behind + inner; }
};

/// Along an axis, the places of each window that lie inside.
using WindowPlaces = std::vector<std::vector<int64_t>>;

WindowPlaces PlacesOfWindows(const Arguments& args, int i, int64_t size, int64_t windows) {
  const auto setting = [&](const char* name) {
    const IntList list = args.List(name);
    return list[list.size() == 1 ? 0 : i];
  };
  const int64_t kernel = args.List("kernel_size")[i];
  const int64_t stride = setting("stride") == 0 ? kernel : setting("stride");
  WindowPlaces found(windows);
  for (int64_t k = 0; k < windows; ++k) {
    for (int64_t u = 0; u < kernel; ++u) {
      const int64_t at = k * stride - setting("padding") + u * setting("dilation");
      if (at >= 0 && at < size) found[k].push_back(at);
    }
  }
  return found;
}

WindowPlaces PlacesOfParts(int64_t size, int64_t parts) {
  WindowPlaces found(parts);
  for (int64_t k = 0; k < parts; ++k) {
    for (int64_t at = 0; at < size; ++at) {
      // Inside of [k / parts, (k + 1) / parts) of the whole, if only with a piece of it.
      if ((at + 1) * parts > k * size && at * parts < (k + 1) * size) found[k].push_back(at);
    }
  }
  return found;
}

template <class T>
Results Largest(const Case& test_case, bool adaptive) {
  const Arguments args(test_case);
  const int rank = args.List(adaptive ? "output_size" : "kernel_size").size();
  const Numbers<T> input = args.NumbersOf<T>("input");
  const Planes from(args, args.Shape("input"), rank), to(args, args.OutputShape(), rank);
  WindowPlaces along[3] = {{{0}}, {{0}}, {{0}}};
  for (int i = 0; i < rank; ++i) {
    const int axis = 3 - rank + i;
    along[axis] = adaptive ? PlacesOfParts(from.sizes[axis], to.sizes[axis])
                           : PlacesOfWindows(args, i, from.sizes[axis], to.sizes[axis]);
  }
  Numbers<T> output(Size(args.OutputShape()));
  Indices indices(output.size());
  for (int64_t plane = 0; plane < to.before; ++plane) {
    for (int64_t inner = 0; inner < to.behind; ++inner) {
      for (int64_t window = 0; window < to.places(); ++window) {
        T best = -std::numeric_limits<T>::infinity();
        int64_t place = kNoPlace;
        for (int64_t d : along[0][window / to.sizes[2] / to.sizes[1]]) {
          for (int64_t h : along[1][window / to.sizes[2] % to.sizes[1]]) {
            for (int64_t w : along[2][window % to.sizes[2]]) {
              const int64_t here = (d * from.sizes[1] + h) * from.sizes[2] + w;
              const T x = input[from.At(plane, here, inner)];
              if (place == kNoPlace || (std::isnan(x) && !std::isnan(best)) || x > best) {
                best = x;
                place = here;
              }
            }
          }
        }
        output[to.At(plane, window, inner)] = best;
        indices[to.At(plane, window, inner)] = place;
      }
    }
  }
  Results results;
  Append(results, output, args.OutputShape());
  Append(results, indices, args.OutputShape(1));
  return results;
}

/// Elements go to their places: where several meet they are added, or the last one stays.
template <class T>
Results ToPlaces(const Case& test_case, const char* name, const char* sizes_name, bool adds) {
  const Arguments args(test_case);
  const int rank = args.List(sizes_name).size();
  const Numbers<T> input = args.NumbersOf<T>(name);
  const Indices indices = args.IndicesOf("indices");
  const Planes from(args, args.Shape(name), rank), to(args, args.OutputShape(), rank);
  Numbers<T> output(Size(args.OutputShape()), T{0});
  for (int64_t plane = 0; plane < from.before; ++plane) {
    for (int64_t window = 0; window < from.places(); ++window) {
      for (int64_t inner = 0; inner < from.behind; ++inner) {
        const int64_t element = from.At(plane, window, inner), place = indices[element];
        if (place == kNoPlace && adds) continue;
        if (place < 0 || place >= to.places()) throw std::logic_error("an index is outside of the plane");
        T& at = output[to.At(plane, place, inner)];
        at = adds ? at + input[element] : input[element];
      }
    }
  }
  Results results;
  Append(results, output, args.OutputShape());
  return results;
}

}  // namespace

template <class T>
static Results RunMaxPool(const Case& test_case) {
  return Largest<T>(test_case, false);
}

template <class T>
static Results RunAdaptiveMaxPool(const Case& test_case) {
  return Largest<T>(test_case, true);
}

template <class T>
static Results RunMaxPoolGrad(const Case& test_case) {
  return ToPlaces<T>(test_case, "grad_output", "input_size", true);
}

template <class T>
static Results RunMaxUnpool(const Case& test_case) {
  return ToPlaces<T>(test_case, "input", "output_size", false);
}

static const Op kOps[] = {{"max_pool", REPDL_EITHER(RunMaxPool)},
                          {"max_pool_grad", REPDL_EITHER(RunMaxPoolGrad)},
                          {"adaptive_max_pool", REPDL_EITHER(RunAdaptiveMaxPool)},
                          {"max_unpool", REPDL_EITHER(RunMaxUnpool)},
                          {"max_pool2d", REPDL_EITHER(RunMaxPool2d)},
                          {"max_pool2d_grad", REPDL_EITHER(RunMaxPool2dGrad)}};

}  // namespace repdl::reference

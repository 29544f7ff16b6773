// SPDX-License-Identifier: MIT
#include <limits>

#include "base/parallel.h"
#include "drivers/vector_cpu-inl.h"
#include "ops/max_pool2d/max_pool2d_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

/// The window places u with 0 <= start + u * step < size.
struct Window {
  int64_t begin, end;
  Window(int64_t start, int64_t step, int64_t count, int64_t size)
      : begin(start >= 0 ? 0 : (-start + step - 1) / step),
        end(start >= size ? 0 : std::min(count, (size - start + step - 1) / step)) {}
};

}  // namespace

void MaxPool2dKernel(const MaxPool2dArgs& args) {
  const int64_t out_plane = args.out_h * args.out_w;
  ParallelRanges(args.planes, 4096 / (out_plane * args.kernel.h * args.kernel.w) + 1,
                 [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      const float* const x = args.input + plane * args.h * args.w;
      float* y = args.output + plane * out_plane;
      int64_t* index = args.indices + plane * out_plane;
      for (int64_t p = 0; p < args.out_h; ++p) {
        const int64_t h0 = p * args.stride.h - args.padding.h;
        const Window rows(h0, args.dilation.h, args.kernel.h, args.h);
        for (int64_t q = 0; q < args.out_w; ++q, ++y, ++index) {
          const int64_t w0 = q * args.stride.w - args.padding.w;
          const Window cols(w0, args.dilation.w, args.kernel.w, args.w);
          int64_t best = (h0 + rows.begin * args.dilation.h) * args.w + w0 + cols.begin * args.dilation.w;
          float largest = -std::numeric_limits<float>::infinity();
          for (int64_t u = rows.begin; u < rows.end; ++u) {
            for (int64_t v = cols.begin; v < cols.end; ++v) {
              const int64_t at = (h0 + u * args.dilation.h) * args.w + w0 + v * args.dilation.w;
              const float value = x[at];
              // A NaN wins over every number, and the first NaN over later ones.
              const bool wins = value > largest || (value != value && largest == largest);
              largest = wins ? value : largest;
              best = wins ? at : best;
            }
          }
          *y = largest;
          *index = best;
        }
      }
    }
  });
}

void MaxPool2dGradKernel(const MaxPool2dArgs& args) {
  const int64_t plane_size = args.h * args.w, out_plane = args.out_h * args.out_w;
  ParallelRanges(args.planes, 8192 / (plane_size + out_plane) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      float* const grad = args.grad_input + plane * plane_size;
      std::fill(grad, grad + plane_size, 0.0f);
      for (int64_t i = plane * out_plane; i < (plane + 1) * out_plane; ++i) {
        float& g = grad[args.indices[i]];
        g = g + args.grad_output[i];
      }
    }
  });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

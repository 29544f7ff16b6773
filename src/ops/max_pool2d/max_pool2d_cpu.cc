// SPDX-License-Identifier: MIT
#include <limits>

#include "base/arena.h"
#include "base/parallel.h"
#include "drivers/vector_cpu-inl.h"
#include "ops/max_pool2d/max_pool2d_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

using Places = hn::Vec<hn::RebindToSigned<FloatTag>>;

/// Pools one row of windows after the other, a vector of windows at a time.
class RowPool {
 public:
  RowPool(const MaxPool2dArgs& args, Scratch& scratch)
      : args_(args),
        width_((args.out_w + kLanes - 1) / kLanes * kLanes),
        phase_length_(width_ + (args.kernel.w - 1) * args.dilation.w / args.stride.w + 1),
        row_(scratch.Get<float>(args.stride.w * phase_length_)),
        largest_(scratch.Get<float>(width_)),
        place_(scratch.Get<int32_t>(width_)),
        first_col_(scratch.Get<int32_t>(width_)) {
    std::fill(row_, row_ + args.stride.w * phase_length_, -std::numeric_limits<float>::infinity());
    // The first column of each window that lies inside the image.
    for (int64_t q = 0; q < width_; ++q) {
      int64_t col = q * args.stride.w - args.padding.w;
      while (col < 0) col += args.dilation.w;
      first_col_[q] = static_cast<int32_t>(col);
    }
  }

  void Pool(const float* image, int64_t p, float* output, int64_t* indices) {
    std::fill(largest_, largest_ + width_, -std::numeric_limits<float>::infinity());
    std::fill(place_, place_ + width_, -1);  // of a window without any place
    bool first = true;
    for (int64_t u = 0; u < args_.kernel.h; ++u) {
      const int64_t h = p * args_.stride.h - args_.padding.h + u * args_.dilation.h;
      if (h < 0 || h >= args_.h) continue;
      if (first) {
        for (int64_t q = 0; q < width_; ++q) {
          if (first_col_[q] < args_.w) place_[q] = static_cast<int32_t>(h * args_.w) + first_col_[q];
        }
        first = false;
      }
      SplitRow(image + h * args_.w);
      for (int64_t v = 0; v < args_.kernel.w; ++v) {
        const int64_t col = v * args_.dilation.w;
        TakeColumn(row_ + col % args_.stride.w * phase_length_ + col / args_.stride.w,
                   h * args_.w - args_.padding.w + col);
      }
    }
    for (int64_t q = 0; q < args_.out_w; ++q) {
      output[q] = largest_[q];
      indices[q] = place_[q];
    }
  }

 private:
  /// The columns of a row by their remainder modulo the stride, from the first padded one on. What lies outside the
  /// image was filled with -inf, which never wins.
  void SplitRow(const float* row) {
    const int64_t stride = args_.stride.w, padding = args_.padding.w;
    for (int64_t phase = 0; phase < stride; ++phase) {
      // Column i * stride + phase - padding of the image, for i from `begin` to `end`.
      const int64_t offset = phase - padding;
      const int64_t begin = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
      const int64_t end = std::min(phase_length_, (args_.w - offset + stride - 1) / stride);
      float* const to = row_ + phase * phase_length_;
      for (int64_t i = begin; i < end; ++i) to[i] = row[i * stride + offset];
    }
  }

  /// Lets window q take x[q], which lies at place start + q * stride of the image.
  void TakeColumn(const float* x, int64_t start) {
    const FloatTag d;
    const hn::RebindToSigned<FloatTag> di;
    const auto stride = static_cast<int32_t>(args_.stride.w);
    for (int64_t q = 0; q < width_; q += kLanes) {
      const Vec value = LoadU(d, x + q), largest = Load(d, largest_ + q);
      // A NaN wins over every number, and the first NaN over later ones.
      const auto wins = hn::Or(Gt(value, largest), hn::AndNot(IsNaN(largest), IsNaN(value)));
      Store(IfThenElse(wins, value, largest), d, largest_ + q);
      const Places at = Add(Mul(hn::Iota(di, static_cast<int32_t>(q)), Set(di, stride)), Set(di, static_cast<int32_t>(start)));
      Store(IfThenElse(hn::RebindMask(di, wins), at, Load(di, place_ + q)), di, place_ + q);
    }
  }

  const MaxPool2dArgs& args_;
  const int64_t width_, phase_length_;
  float* row_;
  float* largest_;
  int32_t* place_;
  int32_t* first_col_;
};

}  // namespace

void MaxPool2dKernel(const MaxPool2dArgs& args) {
  const int64_t out_plane = args.out_h * args.out_w;
  ParallelRanges(args.planes, 8192 / (out_plane * args.kernel.h * args.kernel.w) + 1,
                 [&](int64_t begin, int64_t end) HWY_ATTR {
    Scratch scratch;
    RowPool pool(args, scratch);
    for (int64_t plane = begin; plane < end; ++plane) {
      for (int64_t p = 0; p < args.out_h; ++p) {
        const int64_t at = plane * out_plane + p * args.out_w;
        pool.Pool(args.input + plane * args.h * args.w, p, args.output + at, args.indices + at);
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
        const int64_t at = args.indices[i];
        if (at >= 0 && at < plane_size) {
          grad[at] = grad[at] + args.grad_output[i];
        } else if (at != -1) {
          args.bad_index->store(true);
        }
      }
    }
  });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

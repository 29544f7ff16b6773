// SPDX-License-Identifier: MIT
#include <limits>

#include "base/arena.h"
#include "base/parallel.h"
#include "drivers/vector_cpu-inl.h"
#include "ops/max_pool2d/max_pool2d_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

/// Pools one row of windows after the other, a vector of windows at a time.
template <class T>
class RowPool {
  // Of a vector of numbers as many.
  using Place = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
  using Places = hn::Vec<hn::ScalableTag<Place>>;

 public:
  RowPool(const MaxPool2dArgs<T>& args, Scratch& scratch)
      : args_(args),
        width_((args.out_w + kLanesOf<T> - 1) / kLanesOf<T> * kLanesOf<T>),
        phase_length_(width_ + (args.kernel.w - 1) * args.dilation.w / args.stride.w + 1),
        row_size_(args.stride.w * phase_length_),
        rows_(scratch.Get<T>(args.kernel.h * row_size_)),
        first_col_(scratch.Get<Place>(width_)),
        places_(scratch.Get<Place>(kLanesOf<T>)) {
    std::fill(rows_, rows_ + args.kernel.h * row_size_, -std::numeric_limits<T>::infinity());
    // The first column of each window that lies inside the image.
    for (int64_t q = 0; q < width_; ++q) {
      int64_t col = q * args.stride.w - args.padding.w;
      while (col < 0) col += args.dilation.w;
      first_col_[q] = static_cast<Place>(col);
    }
  }

  /// Row `p` of windows of an image.
  void Pool(const T* image, int64_t p, T* output, int64_t* indices) {
    const int64_t h0 = p * args_.stride.h - args_.padding.h;
    int64_t begin = args_.kernel.h, end = 0;  // the kernel rows inside the image
    for (int64_t u = 0; u < args_.kernel.h; ++u) {
      const int64_t h = h0 + u * args_.dilation.h;
      if (h < 0 || h >= args_.h) continue;
      begin = std::min(begin, u);
      end = u + 1;
      SplitRow(image + h * args_.w, rows_ + u * row_size_);
    }
    for (int64_t q = 0; q < args_.out_w; q += kLanesOf<T>) {
      PoolVector(h0, begin, end, q, std::min<int64_t>(kLanesOf<T>, args_.out_w - q), output + q, indices + q);
    }
  }

 private:
  /// The columns of a row by their remainder modulo the stride, from the first padded one on. What lies outside the
  /// image was filled with -inf, which never wins.
  void SplitRow(const T* row, T* split) const {
    const int64_t stride = args_.stride.w, padding = args_.padding.w;
    for (int64_t phase = 0; phase < stride; ++phase) {
      // Column i * stride + phase - padding of the image, for i from `begin` to `end`.
      const int64_t offset = phase - padding;
      const int64_t begin = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
      const int64_t end = std::min(phase_length_, (args_.w - offset + stride - 1) / stride);
      T* const to = split + phase * phase_length_;
      for (int64_t i = begin; i < end; ++i) to[i] = row[i * stride + offset];
    }
  }

  void PoolVector(int64_t h0, int64_t begin, int64_t end, int64_t q, int64_t count, T* output, int64_t* indices) {
    const TagOf<T> d;
    const hn::ScalableTag<Place> di;
    const auto narrow = [](int64_t place) { return static_cast<Place>(place); };
    VecOf<T> largest = Set(d, -std::numeric_limits<T>::infinity());
    Places place = Set(di, -1);  // of a window without any place
    if (begin < end) {
      const Places col = Load(di, first_col_ + q);
      const Places first = Add(col, Set(di, narrow((h0 + begin * args_.dilation.h) * args_.w)));
      place = IfThenElse(Lt(col, Set(di, narrow(args_.w))), first, place);
    }
    const Places window = Mul(hn::Iota(di, narrow(q)), Set(di, narrow(args_.stride.w)));
    for (int64_t u = begin; u < end; ++u) {
      const T* const row = rows_ + u * row_size_;
      const int64_t start = (h0 + u * args_.dilation.h) * args_.w - args_.padding.w;
      for (int64_t v = 0; v < args_.kernel.w; ++v) {
        const int64_t col = v * args_.dilation.w;
        const VecOf<T> value = LoadU(d, row + col % args_.stride.w * phase_length_ + col / args_.stride.w + q);
        // A NaN wins over every number, and the first NaN over later ones.
        const auto loses = hn::Or(Le(value, largest), IsNaN(largest));
        largest = IfThenElse(loses, largest, value);
        place = IfThenElse(hn::RebindMask(di, loses), place, Add(window, Set(di, narrow(start + col))));
      }
    }
    StoreN(largest, output, count);
    Store(place, di, places_);
    for (int64_t i = 0; i < count; ++i) indices[i] = places_[i];
  }

  const MaxPool2dArgs<T>& args_;
  const int64_t width_, phase_length_, row_size_;
  T* rows_;
  Place* first_col_;
  Place* places_;
};

template <class T>
void Pool(const MaxPool2dArgs<T>& args) {
  const int64_t out_plane = args.out_h * args.out_w;
  ParallelRanges(args.planes, 8192 / (out_plane * args.kernel.h * args.kernel.w) + 1,
                 [&](int64_t begin, int64_t end) HWY_ATTR {
                   Scratch scratch;
                   RowPool<T> pool(args, scratch);
                   for (int64_t plane = begin; plane < end; ++plane) {
                     for (int64_t p = 0; p < args.out_h; ++p) {
                       const int64_t at = plane * out_plane + p * args.out_w;
                       pool.Pool(args.input + plane * args.h * args.w, p, args.output + at, args.indices + at);
                     }
                   }
                 });
}

template <class T>
void FillGrad(const MaxPool2dArgs<T>& args) {
  const int64_t plane_size = args.h * args.w, out_plane = args.out_h * args.out_w;
  ParallelRanges(args.planes, 8192 / (plane_size + out_plane) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      T* const grad = args.grad_input + plane * plane_size;
      std::fill(grad, grad + plane_size, T{0});
      for (int64_t i = plane * out_plane; i < (plane + 1) * out_plane; ++i) {
        const int64_t at = args.indices[i];
        if (at >= 0 && at < plane_size) {
          grad[at] = grad[at] + args.grad_output[i];
        } else if (at != -1) {
          __atomic_store_n(args.bad_index, 1, __ATOMIC_RELAXED);  // other threads may do the same
        }
      }
    }
  });
}

}  // namespace

void MaxPool2dKernel(const MaxPool2dArgs<float>& args) { Pool(args); }
void MaxPool2dKernel(const MaxPool2dArgs<double>& args) { Pool(args); }
void MaxPool2dGradKernel(const MaxPool2dArgs<float>& args) { FillGrad(args); }
void MaxPool2dGradKernel(const MaxPool2dArgs<double>& args) { FillGrad(args); }

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

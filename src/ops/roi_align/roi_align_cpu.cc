// SPDX-License-Identifier: MIT
#include "base/arena.h"
#include "base/parallel.h"
#include "drivers/channel_group_cpu-inl.h"
#include "ops/roi_align/roi_align_lists.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

/// Products that are worth a fork.
constexpr int64_t kGrain = 32768;

/// A box for some channels.
template <class T, class Group>
class Box {
 public:
  Box(const RoiAlignArgs<T>& args, const Roi<T>* rois, const Group& group, int64_t r)
      : args_(args), group_(group), roi_(rois[r]), r_(r) {}

  void Pool() const {
    const RoiAxis<T>&y = roi_.y, &x = roi_.x;
    const TagOf<T> d;
    const int64_t bins = args_.rows * args_.columns, size = args_.height * args_.width;
    Scratch scratch;
    T* const out = scratch.Get<T>((bins + kN) * kWidth);
    for (int64_t i = 0; i < args_.rows; ++i) {
      if (y.starts[i] != y.starts[i + 1]) continue;
      std::fill_n(out + i * args_.columns * kWidth, args_.columns * kWidth, T{0});
    }
    const int64_t left = x.used == 0 ? 0 : x.used_elements[0];
    T* const row = scratch.Get<T>((Span(x) + kN) * kWidth);
    const T* const image = args_.input + (roi_.image * args_.channels + group_.first()) * size;
    for (int64_t u = 0; u < y.used; ++u) {
      const int64_t at = y.used_elements[u];
      ForRuns(x, [&](int64_t begin, int64_t count) HWY_ATTR {
        group_.Load(image + at * args_.width + begin, size, count, row + (begin - left) * kWidth);
      });
      for (int64_t j = 0; j < args_.columns; ++j) {
        VecElementOf<T> sum[kVectors];
        const int64_t begin = x.starts[j], end = x.starts[j + 1];
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) sum[v] = Zero(d);
        for (int64_t t = begin; t < end; ++t) {
          const T* const from = row + (x.elements[t] - left) * kWidth;
          const VecOf<T> weight = Set(d, x.weights[t]);
#pragma GCC unroll 4
          for (int v = 0; v < kVectors; ++v) {
            const VecOf<T> product = Mul(LoadU(d, from + v * kN), weight);
            sum[v] = t == begin ? product : Add(sum[v], product);
          }
        }
        for (int64_t t = y.used_starts[u]; t < y.used_starts[u + 1]; ++t) {
          const int64_t i = y.bins[t];
          const bool is_first = y.elements[y.starts[i]] == at;
          const VecOf<T> weight = Set(d, y.bin_weights[t]);
          T* const to = out + (i * args_.columns + j) * kWidth;
#pragma GCC unroll 4
          for (int v = 0; v < kVectors; ++v) {
            const VecOf<T> product = Mul(sum[v], weight);
            StoreU(is_first ? product : Add(LoadU(d, to + v * kN), product), d, to + v * kN);
          }
        }
      }
    }
    group_.Unload(out, bins, args_.output + (r_ * args_.channels + group_.first()) * bins, bins,
                  [](VecOf<T> v, T* to, int64_t count) HWY_ATTR { StoreN<T>(v, to, count); });
  }

  void Spread() const {
    const RoiAxis<T>&y = roi_.y, &x = roi_.x;
    if (x.used == 0) return;
    const TagOf<T> d;
    const int64_t bins = args_.rows * args_.columns, size = args_.height * args_.width;
    Scratch scratch;
    T* const grad = scratch.Get<T>((bins + kN) * kWidth);
    group_.Load(args_.grad_output + (r_ * args_.channels + group_.first()) * bins, bins, bins, grad);
    const int64_t left = x.used_elements[0], span = Span(x);
    T* const sums = scratch.Get<T>(args_.rows * span * kWidth);
    std::fill_n(sums, args_.rows * span * kWidth, T{0});
    for (int64_t i = 0; i < args_.rows; ++i) {
      for (int64_t j = 0; j < args_.columns; ++j) {
        const T* const from = grad + (i * args_.columns + j) * kWidth;
        for (int64_t t = x.starts[j]; t < x.starts[j + 1]; ++t) {
          T* const to = sums + (i * span + x.elements[t] - left) * kWidth;
          const VecOf<T> weight = Set(d, x.weights[t]);
#pragma GCC unroll 4
          for (int64_t c = 0; c < kWidth; c += kN) {
            StoreU(Add(LoadU(d, to + c), Mul(LoadU(d, from + c), weight)), d, to + c);
          }
        }
      }
    }
    T* const row = scratch.Get<T>((span + kN) * kWidth);
    T* const image = args_.grad_input + (roi_.image * args_.channels + group_.first()) * size;
    for (int64_t u = 0; u < y.used; ++u) {
      ForRuns(x, [&](int64_t begin, int64_t count) HWY_ATTR {
        T* const out = row + (begin - left) * kWidth;
        for (int64_t c = 0; c < count * kWidth; c += kN) {
          VecOf<T> sum = Zero(d);
          for (int64_t t = y.used_starts[u]; t < y.used_starts[u + 1]; ++t) {
            const T* const from = sums + (y.bins[t] * span + begin - left) * kWidth + c;
            sum = Add(sum, Mul(LoadU(d, from), Set(d, y.bin_weights[t])));
          }
          StoreU(sum, d, out + c);
        }
        group_.Unload(out, count, image + y.used_elements[u] * args_.width + begin, size,
                      [](VecOf<T> v, T* to, int64_t n) HWY_ATTR { StoreN<T>(Add(LoadN(to, n), v), to, n); });
      });
    }
  }

 private:
  static constexpr int64_t kN = kLanesOf<T>;
  static constexpr int kVectors = Group::kNumVectors;
  static constexpr int64_t kWidth = Group::kWidth;

  static int64_t Span(const RoiAxis<T>& axis) {
    return axis.used == 0 ? 0 : axis.used_elements[axis.used - 1] - axis.used_elements[0] + 1;
  }

  /// Calls body(begin, count) for runs of at most a vector that have all the elements in use.
  template <class Body>
  static HWY_INLINE void ForRuns(const RoiAxis<T>& axis, const Body& body) {
    for (int64_t i = 0; i < axis.used;) {
      const int64_t begin = axis.used_elements[i];
      int64_t last = begin;
      for (; i < axis.used && axis.used_elements[i] < begin + kN; ++i) last = axis.used_elements[i];
      body(begin, last - begin + 1);
    }
  }

  const RoiAlignArgs<T>& args_;
  const Group& group_;
  const Roi<T>& roi_;
  int64_t r_;
};

/// A box for one channel, whose numbers are taken one by one.
template <class T>
void PoolAlone(const RoiAlignArgs<T>& args, const Roi<T>& roi, int64_t r, int64_t c) {
  const RoiAxis<T>&y = roi.y, &x = roi.x;
  T* const out = args.output + (r * args.channels + c) * args.rows * args.columns;
  for (int64_t i = 0; i < args.rows; ++i) {
    if (y.starts[i] == y.starts[i + 1]) std::fill_n(out + i * args.columns, args.columns, T{0});
  }
  Scratch scratch;
  T* const sums = scratch.Get<T>(args.columns);
  const T* const image = args.input + (roi.image * args.channels + c) * args.height * args.width;
  for (int64_t u = 0; u < y.used; ++u) {
    const T* const row = image + y.used_elements[u] * args.width;
    for (int64_t j = 0; j < args.columns; ++j) {
      int64_t t = x.starts[j];
      const int64_t end = x.starts[j + 1];
      T sum = t == end ? T{0} : row[x.elements[t]] * x.weights[t];
      for (++t; t < end; ++t) sum = sum + row[x.elements[t]] * x.weights[t];
      sums[j] = sum;
    }
    for (int64_t t = y.used_starts[u]; t < y.used_starts[u + 1]; ++t) {
      const int64_t i = y.bins[t];
      const bool is_first = y.elements[y.starts[i]] == y.used_elements[u];
      T* const to = out + i * args.columns;
      ForVectors<T>(args.columns, [&](int64_t j, int64_t count) HWY_ATTR {
        const VecOf<T> product = Mul(LoadN(sums + j, count), Set(TagOf<T>(), y.bin_weights[t]));
        StoreN<T>(is_first ? product : Add(LoadN(to + j, count), product), to + j, count);
      });
    }
  }
}

template <class T>
void Pool(const RoiAlignArgs<T>& args, const Roi<T>* rois) {
  if (2 * args.channels < kLanesOf<T>) {
    ParallelRanges(args.count * args.channels, kGrain / (16 * args.rows * args.columns) + 1,
                   [&](int64_t begin, int64_t end) HWY_ATTR {
                     for (int64_t i = begin; i < end; ++i)
                       PoolAlone(args, rois[i % args.count], i % args.count, i / args.count);
                   });
    return;
  }
  const ChannelGroups<T> groups(args.channels);
  const int64_t products = 16 * args.rows * args.columns * args.channels / std::max<int64_t>(groups.count(), 1);
  ParallelRanges(args.count * groups.count(), kGrain / products + 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t task = begin; task < end; ++task) {
      groups.With(task / args.count,
                  [&](const auto& group) HWY_ATTR { Box(args, rois, group, task % args.count).Pool(); });
    }
  });
}

/// The boxes of an image are taken in their order.
template <class T>
void Spread(const RoiAlignArgs<T>& args, const Roi<T>* rois) {
  const ChannelGroups<T> groups(args.channels);
  ParallelRanges(args.batch * groups.count(), 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t image = task / groups.count();
      groups.With(task % groups.count(), [&](const auto& group) HWY_ATTR {
        for (int64_t r = 0; r < args.count; ++r) {
          if (rois[r].image == image) Box(args, rois, group, r).Spread();
        }
      });
    }
  });
}

}  // namespace

void RoiAlignKernel(const RoiAlignArgs<float>& args) { ForListedBoxes(args, Pool<float>); }
void RoiAlignKernel(const RoiAlignArgs<double>& args) { ForListedBoxes(args, Pool<double>); }
void RoiAlignGradKernel(const RoiAlignArgs<float>& args) { ForListedBoxes(args, Spread<float>); }
void RoiAlignGradKernel(const RoiAlignArgs<double>& args) { ForListedBoxes(args, Spread<double>); }

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

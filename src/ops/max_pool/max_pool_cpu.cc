// SPDX-License-Identifier: MIT
#include <limits>

#include "base/arena.h"
#include "base/parallel.h"
#include "drivers/row_cpu-inl.h"
#include "ops/max_pool/max_pool_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

#include "ops/max_pool/max_pool.row.h"

namespace {

/// Comparisons or moves that are worth a fork.
constexpr int64_t kGrain = 8192;

// Of a vector of numbers as many.
template <class T>
using PlaceNumber = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
template <class T>
using PlaceTag = hn::ScalableTag<PlaceNumber<T>>;
template <class T>
using Places = hn::Vec<PlaceTag<T>>;

template <class T>
constexpr T kLowest = -std::numeric_limits<T>::infinity();

template <class T>
HWY_INLINE void StorePlaces(Places<T> places, int64_t* indices, int64_t count) {
  HWY_ALIGN PlaceNumber<T> buffer[kLanesOf<T>];
  Store(places, PlaceTag<T>(), buffer);
  if (HWY_LIKELY(count >= kLanesOf<T>)) {
    for (int64_t i = 0; i < kLanesOf<T>; ++i) indices[i] = buffer[i];
  } else {
    for (int64_t i = 0; i < count; ++i) indices[i] = buffer[i];
  }
}

/// Calls body(d, h) for the depths and heights of a window, in order.
template <class T, class Body>
HWY_INLINE void ForRows(const MaxPoolArgs<T>& args, int64_t k, int64_t p, const Body& body) {
  const PoolWindows &deep = args.axes[0], &high = args.axes[1];
  for (int64_t i = 0; i < deep.count[k]; ++i) {
    for (int64_t j = 0; j < high.count[p]; ++j) body(deep.first[k] + i * deep.step, high.first[p] + j * high.step);
  }
}

/// Pools one row of windows after the other, a vector of windows at a time.
template <class T>
class RowPool {
 public:
  RowPool(const MaxPoolArgs<T>& args, Scratch& scratch)
      : args_(args),
        wide_(args.axes[2]),
        width_((wide_.windows + kLanesOf<T> - 1) / kLanesOf<T> * kLanesOf<T>),
        phase_length_(width_ + (args.kernel - 1) * wide_.step / args.stride + 1),
        row_size_(args.stride * phase_length_),
        deep_slots_(Slots(args.axes[0])),
        high_slots_(Slots(args.axes[1])),
        rows_(scratch.Get<T>(deep_slots_ * high_slots_ * row_size_)),
        held_(scratch.Get<int64_t>(deep_slots_ * high_slots_)),
        columns_(scratch.Get<int64_t>(args.kernel)),
        first_col_(scratch.Get<PlaceNumber<T>>(width_)) {
    std::fill(rows_, rows_ + deep_slots_ * high_slots_ * row_size_, kLowest<T>);
    for (int64_t q = 0; q < width_; ++q) {
      first_col_[q] = static_cast<PlaceNumber<T>>(q < wide_.windows ? wide_.first[q] : wide_.size);
    }
    for (int64_t v = 0; v < args.kernel; ++v) {
      const int64_t col = v * wide_.step;
      columns_[v] = col % args.stride * phase_length_ + col / args.stride;
    }
  }

  /// What was held of another plane is not of this one.
  void Begin(const T* plane) {
    plane_ = plane;
    std::fill(held_, held_ + deep_slots_ * high_slots_, -1);
  }

  /// The windows at depth k and height p.
  void Pool(int64_t k, int64_t p, T* output, int64_t* indices) {
    ForRows(args_, k, p, [&](int64_t d, int64_t h) HWY_ATTR {
      const int64_t slot = SlotOf(d, h), row = d * args_.axes[1].size + h;
      if (held_[slot] == row) return;
      SplitRow(plane_ + row * wide_.size, rows_ + slot * row_size_);
      held_[slot] = row;
    });
    for (int64_t q = 0; q < wide_.windows; q += kLanesOf<T>) {
      PoolVector(k, p, q, std::min<int64_t>(kLanesOf<T>, wide_.windows - q), output + q, indices + q);
    }
  }

 private:
  /// Places along an axis that a window may have between its first and its last.
  static int64_t Slots(const PoolWindows& axis) { return std::max<int64_t>((axis.Longest() - 1) * axis.step + 1, 1); }
  int64_t SlotOf(int64_t d, int64_t h) const { return d % deep_slots_ * high_slots_ + h % high_slots_; }

  /// The columns of a row by their remainder modulo the stride, from the first padded one on. What lies outside the
  /// image was filled with -inf, which never wins.
  void SplitRow(const T* row, T* split) const {
    const int64_t stride = args_.stride, padding = args_.padding;
    int64_t done = 0;  // columns
    if (stride == 2) {
      T* const even = split + padding % 2 * phase_length_ + padding / 2;
      T* const odd = split + (padding + 1) % 2 * phase_length_ + (padding + 1) / 2;
      const int64_t pairs = std::min(wide_.size / 2, phase_length_ - (padding + 1) / 2);
      const TagOf<T> d;
      int64_t i = 0;
      for (; i + kLanesOf<T> <= pairs; i += kLanesOf<T>) {
        VecOf<T> a, b;
        hn::LoadInterleaved2(d, row + 2 * i, a, b);
        StoreU(a, d, even + i), StoreU(b, d, odd + i);
      }
      done = 2 * i;
    }
    for (int64_t phase = 0; phase < stride; ++phase) {
      // Column i * stride + phase - padding of the image, for i from `begin` to `end`.
      const int64_t offset = phase - padding;
      const int64_t begin = offset >= done ? 0 : (done - offset + stride - 1) / stride;
      const int64_t end = std::min(phase_length_, (wide_.size - offset + stride - 1) / stride);
      T* const to = split + phase * phase_length_;
      if (stride == 1) {
        if (begin < end) std::copy(row + begin + offset, row + end + offset, to + begin);
      } else {
        for (int64_t i = begin; i < end; ++i) to[i] = row[i * stride + offset];
      }
    }
  }

  void PoolVector(int64_t k, int64_t p, int64_t q, int64_t count, T* output, int64_t* indices) const {
    const TagOf<T> d;
    const PlaceTag<T> di;
    const auto narrow = [](int64_t place) { return static_cast<PlaceNumber<T>>(place); };
    VecOf<T> largest = Set(d, kLowest<T>);
    Places<T> place = Set(di, -1);  // of a window without any place
    bool first = true;
    const Places<T> window = Mul(hn::Iota(di, narrow(q)), Set(di, narrow(args_.stride)));
    ForRows(args_, k, p, [&](int64_t deep, int64_t high) HWY_ATTR {
      const int64_t begin = (deep * args_.axes[1].size + high) * wide_.size;
      if (first) {
        const Places<T> col = Load(di, first_col_ + q);
        place = IfThenElse(Lt(col, Set(di, narrow(wide_.size))), Add(col, Set(di, narrow(begin))), place);
        first = false;
      }
      const T* const row = rows_ + SlotOf(deep, high) * row_size_ + q;
      for (int64_t v = 0; v < args_.kernel; ++v) {
        const int64_t at = begin - args_.padding + v * wide_.step;
        TakeLarger(LoadU(d, row + columns_[v]), Add(window, Set(di, narrow(at))), largest, place);
      }
    });
    StoreN<T>(largest, output, count);
    StorePlaces<T>(place, indices, count);
  }

  const MaxPoolArgs<T>& args_;
  const PoolWindows& wide_;
  const int64_t width_, phase_length_, row_size_, deep_slots_, high_slots_;
  const T* plane_ = nullptr;
  T* rows_;                    // split
  int64_t* held_;              // which row each slot has
  int64_t* columns_;           // where in a split row a place of the kernel is
  PlaceNumber<T>* first_col_;  // of each window that lies inside the image
};

/// A window after the other, its inner numbers by vectors.
template <class T>
class WindowPool {
 public:
  WindowPool(const MaxPoolArgs<T>& args, Scratch&) : args_(args) {}

  void Begin(const T* plane) { plane_ = plane; }

  void Pool(int64_t k, int64_t p, T* output, int64_t* indices) const {
    for (int64_t q = 0; q < args_.axes[2].windows; ++q) {
      if (args_.inner == 1) {
        PoolOne(k, p, q, output + q, indices + q);
        continue;
      }
      for (int64_t c = 0; c < args_.inner; c += kLanesOf<T>) {
        const int64_t count = std::min<int64_t>(kLanesOf<T>, args_.inner - c), to = q * args_.inner + c;
        PoolVector(k, p, q, c, count, output + to, indices + to);
      }
    }
  }

 private:
  void PoolVector(int64_t k, int64_t p, int64_t q, int64_t c, int64_t count, T* output, int64_t* indices) const {
    const TagOf<T> d;
    const PlaceTag<T> di;
    VecOf<T> largest = Set(d, kLowest<T>);
    Places<T> place = Set(di, -1);
    bool first = true;
    ForPlaces(k, p, q, [&](int64_t at) HWY_ATTR {
      const Places<T> here = Set(di, static_cast<PlaceNumber<T>>(at));
      if (first) place = here;
      first = false;
      TakeLarger(LoadN(plane_ + at * args_.inner + c, count), here, largest, place);
    });
    StoreN<T>(largest, output, count);
    StorePlaces<T>(place, indices, count);
  }

  void PoolOne(int64_t k, int64_t p, int64_t q, T* output, int64_t* indices) const {
    T largest = kLowest<T>;
    int64_t place = -1;
    ForPlaces(k, p, q, [&](int64_t at) {
      const T value = plane_[at];
      if (place < 0) place = at;
      if (value <= largest || largest != largest) return;
      largest = value;
      place = at;
    });
    *output = largest;
    *indices = place;
  }

  template <class Body>
  HWY_INLINE void ForPlaces(int64_t k, int64_t p, int64_t q, const Body& body) const {
    const PoolWindows& wide = args_.axes[2];
    ForRows(args_, k, p, [&](int64_t d, int64_t h) HWY_ATTR {
      const int64_t begin = (d * args_.axes[1].size + h) * wide.size + wide.first[q];
      for (int64_t i = 0; i < wide.count[q]; ++i) body(begin + i * wide.step);
    });
  }

  const MaxPoolArgs<T>& args_;
  const T* plane_ = nullptr;
};

template <class T, class Pool>
void PoolRows(const MaxPoolArgs<T>& args) {
  const PoolWindows &deep = args.axes[0], &high = args.axes[1], &wide = args.axes[2];
  const int64_t plane_size = deep.size * high.size * wide.size * args.inner, row_size = wide.windows * args.inner;
  const int64_t compared = deep.Longest() * high.Longest() * wide.Longest() * row_size;
  ParallelRanges(args.planes * deep.windows * high.windows, kGrain / std::max<int64_t>(compared, 1) + 1,
                 [&](int64_t begin, int64_t end) HWY_ATTR {
                   Scratch scratch;
                   Pool pool(args, scratch);
                   for (int64_t i = begin; i < end; ++i) {
                     const int64_t p = i % high.windows, k = i / high.windows % deep.windows;
                     if (i == begin || (p == 0 && k == 0))
                       pool.Begin(args.input + i / (high.windows * deep.windows) * plane_size);
                     pool.Pool(k, p, args.output + i * row_size, args.indices + i * row_size);
                   }
                 });
}

template <class T>
void Pool(const MaxPoolArgs<T>& args) {
  if (args.inner == 1 && args.stride > 0) {
    PoolRows<T, RowPool<T>>(args);
  } else {
    PoolRows<T, WindowPool<T>>(args);
  }
}

/// Calls put(element of the output, element of the input) in the order of the windows. A task has some of the inner
/// numbers of some planes.
template <class T, class Put>
HWY_INLINE void ForIndices(const UnpoolArgs<T>& args, int64_t least, const Put& put) {
  constexpr int64_t kRun = 64;
  const int64_t runs = (args.inner + kRun - 1) / kRun;
  const int64_t moved = (args.places + args.windows) * std::min(args.inner, kRun);
  ParallelRanges(args.planes * runs, kGrain / std::max<int64_t>(moved, 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end;) {
      // All runs of a plane that are of this range.
      const int64_t plane = task / runs, next = std::min((plane + 1) * runs, end);
      const int64_t first = task % runs * kRun, last = std::min((next - plane * runs) * kRun, args.inner);
      T* const to = args.output + plane * args.places * args.inner;
      const int64_t from = plane * args.windows * args.inner;
      const auto move = [&](int64_t element, T* column) HWY_ATTR {
        const int64_t at = args.indices[element];
        if (HWY_LIKELY(at >= 0 && at < args.places)) {
          put(column[at * args.inner], args.input[element]);
        } else if (at < least || at >= args.places) {
          __atomic_store_n(args.bad_index, 1, __ATOMIC_RELAXED);  // other threads may do the same
        }
      };
      if (last - first == args.inner) {
        std::fill(to, to + args.places * args.inner, T{0});
      } else {
        for (int64_t i = 0; i < args.places; ++i)
          std::fill(to + i * args.inner + first, to + i * args.inner + last, T{0});
      }
      if (args.inner == 1) {
        for (int64_t i = 0; i < args.windows; ++i) move(from + i, to);
      } else {
        for (int64_t i = 0; i < args.windows; ++i) {
          for (int64_t c = first; c < last; ++c) move(from + i * args.inner + c, to + c);
        }
      }
      task = next;
    }
  });
}

template <class T>
void AddToPlaces(const UnpoolArgs<T>& args) {
  ForIndices(args, -1, [](T& sum, T x) { sum = sum + x; });
}

template <class T>
void PutIntoPlaces(const UnpoolArgs<T>& args) {
  ForIndices(args, 0, [](T& to, T x) { to = x; });
}

}  // namespace

void MaxPoolKernel(const MaxPoolArgs<float>& args) { Pool(args); }
void MaxPoolKernel(const MaxPoolArgs<double>& args) { Pool(args); }
void MaxPoolGradKernel(const UnpoolArgs<float>& args) { AddToPlaces(args); }
void MaxPoolGradKernel(const UnpoolArgs<double>& args) { AddToPlaces(args); }
void MaxUnpoolKernel(const UnpoolArgs<float>& args) { PutIntoPlaces(args); }
void MaxUnpoolKernel(const UnpoolArgs<double>& args) { PutIntoPlaces(args); }

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

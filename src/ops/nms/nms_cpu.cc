// SPDX-License-Identifier: MIT
#include <limits>

#include "base/arena.h"
#include "base/parallel.h"
#include "drivers/vector_cpu-inl.h"
#include "ops/nms/nms_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

#include "ops/nms/nms.row.h"

/// Boxes of which it is decided one after the other which are kept, before all that follow are tried against these.
constexpr int64_t kBlock = 128;
/// Pairs of vectors and boxes that are worth a fork.
constexpr int64_t kGrain = 1024;

template <class T>
struct Box {
  T x1, y1, x2, y2, area;
};

/// Boxes in order, with a 1 for each that is covered. Behind the last one come some that are covered, up to a whole vector.
template <class T>
class Boxes {
 public:
  Boxes(const NmsArgs<T>& args, Scratch& scratch) : args_(args), n_(args.n) {
    const int64_t room = (n_ + kBlock + kN) / kN * kN;
    for (T** plane : {&x1_, &y1_, &x2_, &y2_, &area_, &covered_}) *plane = scratch.Get<T>(room);
    for (int64_t i = 0; i < n_; ++i) {
      const T* const box = args.boxes + 4 * args.order[i];
      x1_[i] = box[0], y1_[i] = box[1], x2_[i] = box[2], y2_[i] = box[3];
      area_[i] = (box[2] - box[0]) * (box[3] - box[1]);
      covered_[i] = 0;
    }
    EndAt(n_);
  }

  void Run() {
    int64_t count = 0;
    Box<T> kept[kBlock];
    for (int64_t first = 0; first < n_; first += kBlock) {
      const int64_t end = std::min(first + kBlock, n_);
      int64_t more = 0;
      for (int64_t i = first; i < end; ++i) {
        if (covered_[i] != 0) continue;
        args_.indices[count++] = args_.order[i];
        kept[more++] = {x1_[i], y1_[i], x2_[i], y2_[i], area_[i]};
        for (int64_t j = i / kN * kN; j < end; j += kN) Cover(&kept[more - 1], 1, j);
      }
      if (end == n_) break;
      const int64_t vectors = (n_ - end + kN - 1) / kN;
      ParallelRanges(vectors, kGrain / std::max<int64_t>(more, 1) + 1, [&](int64_t begin, int64_t last) HWY_ATTR {
        for (int64_t v = begin; v < last; ++v) Cover(kept, more, end + v * kN);
      });
      CloseUp(end);
    }
    *args_.count = count;
    std::fill(args_.indices + count, args_.indices + args_.n, int64_t{-1});
  }

 private:
  static constexpr int64_t kN = kLanesOf<T>;

  void EndAt(int64_t n) {
    n_ = n;
    const int64_t end = (n + kN - 1) / kN * kN;
    for (T* plane : {x1_, y1_, x2_, y2_, area_}) std::fill(plane + n, plane + end, T{0});
    std::fill(covered_ + n, covered_ + end, T{1});
  }

  /// Marks which boxes of the vector from j on one of some boxes covers.
  HWY_INLINE void Cover(const Box<T>* by, int64_t count, int64_t j) {
    const TagOf<T> d;
    const VecOf<T> zero = Zero(d), one = Set(d, 1), threshold = Set(d, args_.threshold);
    VecOf<T> covered = LoadU(d, covered_ + j);
    if (hn::AllTrue(d, NotEq(covered, zero))) return;
    const VecOf<T> x1 = LoadU(d, x1_ + j), y1 = LoadU(d, y1_ + j), x2 = LoadU(d, x2_ + j), y2 = LoadU(d, y2_ + j);
    const VecOf<T> area = LoadU(d, area_ + j);
    const bool from_zero = args_.threshold >= 0;
    for (int64_t i = 0; i < count; ++i) {
      const VecOf<T> inter =
          AreaOfBoth(x1, y1, x2, y2, Set(d, by[i].x1), Set(d, by[i].y1), Set(d, by[i].x2), Set(d, by[i].y2));
      if (from_zero && hn::AllFalse(d, Gt(inter, zero))) continue;  // the quotients are zeros, negative or NaN
      covered = IfThenElse(IsCovered(inter, area, Set(d, by[i].area), threshold), one, covered);
    }
    StoreU(covered, d, covered_ + j);
  }

  /// Takes out those that are covered, from `begin` on, if they are many.
  void CloseUp(int64_t begin) {
    const TagOf<T> d;
    int64_t left = 0;
    for (int64_t i = begin; i < n_; i += kN) {
      left += static_cast<int64_t>(hn::CountTrue(d, Eq(LoadU(d, covered_ + i), Zero(d))));
    }
    if (4 * left > 3 * (n_ - begin)) return;
    int64_t to = begin;
    for (int64_t i = begin; i < n_; ++i) {
      x1_[to] = x1_[i], y1_[to] = y1_[i], x2_[to] = x2_[i], y2_[to] = y2_[i], area_[to] = area_[i];
      args_.order[to] = args_.order[i];
      to += covered_[i] == 0 ? 1 : 0;
    }
    std::fill(covered_ + begin, covered_ + to, T{0});
    EndAt(to);
  }

  const NmsArgs<T>& args_;
  int64_t n_;
  T *x1_, *y1_, *x2_, *y2_, *area_, *covered_;
};

template <class T>
void Suppress(const NmsArgs<T>& args) {
  Scratch scratch;
  Boxes<T>(args, scratch).Run();
}

}  // namespace

void NmsKernel(const NmsArgs<float>& args) { Suppress(args); }
void NmsKernel(const NmsArgs<double>& args) { Suppress(args); }

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

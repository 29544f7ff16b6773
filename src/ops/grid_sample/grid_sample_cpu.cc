// SPDX-License-Identifier: MIT
#include <limits>

#include "base/parallel.h"
#include "drivers/reduce_cpu-inl.h"
#include "ops/grid_sample/grid_sample_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

/// Products that are worth a fork.
constexpr int64_t kGrain = 16384;
/// Places whose neighbours are listed at a time.
constexpr int64_t kBlock = 256;
/// Neighbours that are listed for the gradient of the input, unless a single sample has more.
constexpr int64_t kMaxTerms = int64_t{1} << 20;
/// The index of a neighbour that lies outside.
constexpr int32_t kOutside = -1;

template <class T>
T FloorOf(T x) {
  // An integer, or not finite: not to be converted.
  constexpr T kWhole = sizeof(T) == 4 ? 0x1p23 : 0x1p52;
  if (!(x > -kWhole && x < kWhole)) return x;
  const T low = static_cast<T>(static_cast<int64_t>(x));
  return low > x ? low - 1 : low == x ? x : low;  // a zero keeps its sign
}

/// The even one of two integers that are equally near.
template <class T>
T Nearest(T x) {
  const T low = FloorOf(x), rest = x - low;
  const bool odd = static_cast<T>(2) * FloorOf(low / 2) != low;
  return rest > static_cast<T>(0.5) || (rest == static_cast<T>(0.5) && odd) ? low + 1 : low;
}

/// x - n * y for the largest whole n, of x >= 0 and y > 0; each difference is exact. NaN for an infinity.
template <class T>
T Remainder(T x, T y) {
  if (!(x < std::numeric_limits<T>::infinity())) return std::numeric_limits<T>::quiet_NaN();
  while (x >= y) {
    T part = y;
    while (part + part <= x) part = part + part;
    x = x - part;
  }
  return x;
}

/// A place and the derivative of what padding made of it.
template <class T>
struct Held {
  T place, slope;
};

template <class T>
struct Tap {
  int32_t index;
  T weight, slope;
};

constexpr int kMaxTaps = 4;

/// The neighbours along one axis.
template <class T>
class GridAxis {
 public:
  GridAxis(const GridSampleArgs<T>& args, int d)
      : mode_(args.mode), padding_(args.padding), align_corners_(args.align_corners), size_(args.sizes[d]) {}

  int Find(T g, Tap<T>* taps) const {
    const T last = static_cast<T>(size_ - 1), size = static_cast<T>(size_);
    const T x =
        align_corners_ ? (g + 1) * static_cast<T>(static_cast<double>(size_ - 1) / 2) : ((g + 1) * size - 1) / 2;
    if (mode_ == GridMode::kCubic) {
      const T low = FloorOf(x), t = x - low;
      const T weights[] = {Far(t + 1), Near(t), Near(1 - t), Far(2 - t)};
      const T slopes[] = {FarSlope(t + 1), NearSlope(t), -NearSlope(1 - t), -FarSlope(2 - t)};
      for (int k = 0; k < 4; ++k)
        taps[k] = {Whole(Hold(low + static_cast<T>(k - 1), last).place), weights[k], slopes[k]};
      return 4;
    }
    const Held<T> held = Hold(x, last);
    if (mode_ == GridMode::kNearest) {
      taps[0] = {Whole(Nearest(held.place)), 1, 0};
      return 1;
    }
    const T low = FloorOf(held.place), next = low + 1;
    taps[0] = {Whole(low), next - held.place, -held.slope};
    taps[1] = {Whole(next), held.place - low, held.slope};
    return 2;
  }

 private:
  static constexpr T kA = static_cast<T>(-0.75);

  static T Near(T x) { return ((kA + 2) * x - (kA + 3)) * x * x + 1; }
  static T Far(T x) { return ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA; }
  static T NearSlope(T x) { return (3 * (kA + 2) * x - 2 * (kA + 3)) * x; }
  static T FarSlope(T x) { return (3 * kA * x - 10 * kA) * x + 8 * kA; }

  int32_t Whole(T x) const { return x >= 0 && x < static_cast<T>(size_) ? static_cast<int32_t>(x) : kOutside; }

  Held<T> Hold(T x, T last) const {
    if (padding_ == GridPadding::kZeros) return {x, 1};
    T slope = 1;
    if (padding_ == GridPadding::kReflection) {
      const T low = align_corners_ ? T{0} : static_cast<T>(-0.5),
              span = static_cast<T>(align_corners_ ? size_ - 1 : size_);
      if (span == 0) return {0, 0};
      if (x < low) slope = -slope;
      const T away = x < low ? low - x : x - low;
      const T flips = FloorOf(away / span), rest = Remainder(away, span);
      if (static_cast<T>(2) * FloorOf(flips / 2) != flips) {
        slope = -slope;
        x = span - rest + low;
      } else {
        x = rest + low;
      }
    }
    if (!(x > 0 && x < last)) slope = 0;
    return {x < 0 ? T{0} : x > last ? last : x, slope};
  }

  GridMode mode_;
  GridPadding padding_;
  bool align_corners_;
  int64_t size_;
};

/// The neighbours of some places: of each the index of an element, or kOutside, and the weight.
template <class T>
class Neighbours {
 public:
  using Index = hn::TFromD<IntTag<TagOf<T>>>;

  explicit Neighbours(const GridSampleArgs<T>& args)
      : args_(args), axes_{{args, 0}, {args, 1}, {args, args.rank - 1}}, taps_(TapsOf(args.mode)) {}

  int corners() const { return args_.rank == 2 ? taps_ * taps_ : taps_ * taps_ * taps_; }

  /// Neighbour k of place i goes to k * stride + i. The weight of one outside is +0. `slopes`, if not null, has a plane
  /// for each axis.
  void List(const T* grid, int64_t count, int64_t stride, Index* indices, T* weights, T* slopes) const {
    Tap<T> x[kMaxTaps], y[kMaxTaps], z[kMaxTaps];
    const int rank = args_.rank, deep = rank == 2 ? 1 : taps_;
    const int64_t plane = corners() * stride;
    for (int64_t i = 0; i < count; ++i, grid += rank) {
      axes_[0].Find(grid[0], x);
      axes_[1].Find(grid[1], y);
      if (rank == 3) axes_[2].Find(grid[2], z);
      int64_t at = i;
      for (int c = 0; c < deep; ++c) {
        for (int b = 0; b < taps_; ++b) {
          for (int a = 0; a < taps_; ++a, at += stride) {
            T weight = x[a].weight * y[b].weight;
            int64_t index = y[b].index * args_.sizes[0] + x[a].index;
            bool inside = x[a].index >= 0 && y[b].index >= 0;
            if (rank == 3) {
              weight = weight * z[c].weight;
              index = (z[c].index * args_.sizes[1] + y[b].index) * args_.sizes[0] + x[a].index;
              inside = inside && z[c].index >= 0;
            }
            indices[at] = inside ? static_cast<Index>(index) : kOutside;
            weights[at] = inside ? weight : T{0};
            if (slopes == nullptr) continue;
            const T wz = rank == 3 ? z[c].weight : T{1};  // a product with 1 changes nothing
            slopes[at] = x[a].slope * y[b].weight * wz;
            slopes[plane + at] = x[a].weight * y[b].slope * wz;
            if (rank == 3) slopes[2 * plane + at] = x[a].weight * y[b].weight * z[c].slope;
          }
        }
      }
    }
  }

 private:
  static int TapsOf(GridMode mode) { return mode == GridMode::kCubic ? 4 : mode == GridMode::kNearest ? 1 : 2; }

  const GridSampleArgs<T>& args_;
  GridAxis<T> axes_[3];
  int taps_;
};

/// Whether a coordinate of a place is NaN.
template <class T>
bool IsLost(const T* place, int rank) {
  return place[0] != place[0] || place[1] != place[1] || (rank == 3 && place[2] != place[2]);
}

/// The elements of a plane at some indices; +0 for one outside.
template <class T>
HWY_INLINE VecOf<T> ElementsAt(const T* plane, const typename Neighbours<T>::Index* indices) {
  const TagOf<T> d;
  const IntTag<TagOf<T>> di;
  const auto at = LoadU(di, indices);
  return IfThenZeroElse(MaskTo(d, Lt(at, Zero(di))), hn::GatherIndex(d, plane, Max(at, Zero(di))));
}

/// Calls body(n, first, count) for blocks of places of all samples; `work` is that of a place.
template <class T, class Body>
void ForBlocks(const GridSampleArgs<T>& args, int64_t work, const Body& body) {
  const int64_t blocks = (args.places + kBlock - 1) / kBlock;
  ParallelRanges(args.batch * blocks, kGrain / std::max<int64_t>(work * std::min(args.places, kBlock), 1) + 1,
                 [&](int64_t begin, int64_t end) HWY_ATTR {
                   for (int64_t task = begin; task < end; ++task) {
                     const int64_t first = task % blocks * kBlock;
                     body(task / blocks, first, std::min(kBlock, args.places - first));
                   }
                 });
}

template <class T>
void Sample(const GridSampleArgs<T>& args) {
  const Neighbours<T> neighbours(args);
  const int64_t corners = neighbours.corners(), elements = args.Elements();
  ForBlocks(args, corners * (args.channels + 1), [&](int64_t n, int64_t first, int64_t count) HWY_ATTR {
    const TagOf<T> d;
    Scratch scratch;
    auto* const indices = scratch.Get<typename Neighbours<T>::Index>(corners * kBlock);
    T* const weights = scratch.Get<T>(corners * kBlock);
    std::fill_n(indices, corners * kBlock, kOutside);
    std::fill_n(weights, corners * kBlock, T{0});
    const T* const grid = args.grid + (n * args.places + first) * args.rank;
    neighbours.List(grid, count, kBlock, indices, weights, nullptr);
    for (int64_t i = 0; i < count; ++i) {
      if (IsLost(grid + i * args.rank, args.rank)) weights[i] = std::numeric_limits<T>::quiet_NaN();
    }
    for (int64_t c = n * args.channels; c < (n + 1) * args.channels; ++c) {
      const T* const plane = args.input + c * elements;
      T* const out = args.output + c * args.places + first;
      ForVectors<T>(count, [&](int64_t i, int64_t lanes) HWY_ATTR {
        VecOf<T> sum = Mul(ElementsAt(plane, indices + i), LoadU(d, weights + i));
        for (int64_t k = 1; k < corners; ++k) {
          sum = Add(sum, Mul(ElementsAt(plane, indices + k * kBlock + i), LoadU(d, weights + k * kBlock + i)));
        }
        StoreN<T>(sum, out + i, lanes);
      });
    }
  });
}

/// Adds to kPlanes planes at a time, so that an index is read once for all of them.
template <int kPlanes, class T>
void AddToPlanes(const typename Neighbours<T>::Index* indices, const T* weights, int64_t terms, int64_t places,
                 int64_t elements, const T* grad, T* to) {
  for (int64_t first = 0; first < terms; first += places) {
    for (int64_t i = 0; i < places; ++i) {
      const int64_t at = indices[first + i];
      if (at < 0) continue;
      const T weight = weights[first + i];
      for (int p = 0; p < kPlanes; ++p) {
        T& sum = to[p * elements + at];
        sum = sum + grad[p * places + i] * weight;
      }
    }
  }
}

template <class T>
void SampleGradInput(const GridSampleArgs<T>& args) {
  using Index = typename Neighbours<T>::Index;
  constexpr int kPlanes = 4;
  const Neighbours<T> neighbours(args);
  const int64_t corners = neighbours.corners(), elements = args.Elements(), terms = corners * args.places;
  Scratch scratch;
  const int64_t groups = (args.channels + kPlanes - 1) / kPlanes;
  // Of as many samples as have a table of reasonable size, so that forks are few; or as leave each thread some planes.
  const int64_t together =
      std::clamp(std::max<int64_t>(kMaxTerms / terms, GetNumThreads() / groups), int64_t{1}, args.batch);
  Index* const indices = scratch.Get<Index>(together * terms);
  T* const weights = scratch.Get<T>(together * terms);
  for (int64_t n = 0; n < args.batch; n += together) {
    const int64_t samples = std::min(together, args.batch - n);
    GridSampleArgs<T> some = args;
    some.batch = samples;
    ForBlocks(some, corners, [&](int64_t s, int64_t first, int64_t count) {
      neighbours.List(args.grid + ((n + s) * args.places + first) * args.rank, count, args.places,
                      indices + s * terms + first, weights + s * terms + first, nullptr);
    });
    ParallelRanges(
        samples * groups, kGrain / std::max<int64_t>(terms * kPlanes, 1) + 1, [&](int64_t begin, int64_t end) {
          for (int64_t task = begin; task < end; ++task) {
            const int64_t s = task / groups, c = task % groups * kPlanes;
            const int64_t plane = (n + s) * args.channels + c;
            const T* grad = args.grad_output + plane * args.places;
            T* to = args.grad_input + plane * elements;
            if (c + kPlanes <= args.channels) {
              AddToPlanes<kPlanes>(indices + s * terms, weights + s * terms, terms, args.places, elements, grad, to);
              continue;
            }
            for (int64_t p = c; p < args.channels; ++p, grad += args.places, to += elements) {
              AddToPlanes<1>(indices + s * terms, weights + s * terms, terms, args.places, elements, grad, to);
            }
          }
        });
  }
}

template <class T>
void SampleGradGrid(const GridSampleArgs<T>& args) {
  using Index = typename Neighbours<T>::Index;
  const int rank = args.rank;
  if (args.mode == GridMode::kNearest) {
    std::fill_n(args.grad_grid, args.batch * args.places * rank, T{0});
    return;
  }
  const Neighbours<T> neighbours(args);
  const int64_t corners = neighbours.corners(), elements = args.Elements(), table = corners * kBlock;
  ForBlocks(args, corners * (args.channels + 1), [&](int64_t n, int64_t first, int64_t count) HWY_ATTR {
    const TagOf<T> d;
    const IntTag<TagOf<T>> di;
    Scratch scratch;
    Index* const indices = scratch.Get<Index>(table);
    T* const weights = scratch.Get<T>(table);
    T* const slopes = scratch.Get<T>(rank * table);
    T* const along = scratch.Get<T>(kBlock + kLanesOf<T>);
    T* const sums = scratch.Get<T>(rank * kBlock);
    std::fill_n(indices, table, kOutside);
    std::fill_n(slopes, rank * table, T{0});
    std::fill_n(sums, rank * kBlock, T{0});
    std::fill_n(along, kBlock + kLanesOf<T>, T{0});
    neighbours.List(args.grid + (n * args.places + first) * rank, count, kBlock, indices, weights, slopes);
    for (int64_t k = 0; k < corners; ++k) {
      const Index* const of_corner = indices + k * kBlock;
      const auto products = [&](int64_t c) HWY_ATTR {
        const T* const plane = args.input + (n * args.channels + c) * elements;
        const T* const grad = args.grad_output + (n * args.channels + c) * args.places + first;
        return [plane, grad, of_corner](int64_t i, int64_t lanes)
                   HWY_ATTR { return Mul(ElementsAt(plane, of_corner + i), LoadN(grad + i, lanes)); };
      };
      if (args.order == Order::kSequential) {
        ForVectors<T>(count, [&](int64_t i, int64_t lanes) HWY_ATTR {
          VecOf<T> sum = Zero(d);
          for (int64_t c = 0; c < args.channels; ++c) sum = Add(sum, products(c)(i, lanes));
          StoreU(sum, d, along + i);
        });
      } else {
        SumColumnsOf(args.channels, count, products, along);
      }
      for (int a = 0; a < rank; ++a) {
        for (int64_t i = 0; i < count; i += kLanesOf<T>) {
          const auto outside = MaskTo(d, Lt(LoadU(di, of_corner + i), Zero(di)));
          const VecOf<T> term = Mul(LoadU(d, along + i), LoadU(d, slopes + (a * corners + k) * kBlock + i));
          T* const sum = sums + a * kBlock + i;
          StoreU(Add(LoadU(d, sum), IfThenZeroElse(outside, term)), d, sum);
        }
      }
    }
    T* const out = args.grad_grid + (n * args.places + first) * rank;
    const T* const at = args.grid + (n * args.places + first) * rank;
    for (int64_t i = 0; i < count; ++i) {
      const bool lost = IsLost(at + i * rank, rank);
      for (int a = 0; a < rank; ++a) {
        const double size = static_cast<double>(args.sizes[a] - (args.align_corners ? 1 : 0));
        out[i * rank + a] =
            lost ? std::numeric_limits<T>::quiet_NaN() : sums[a * kBlock + i] * static_cast<T>(size / 2);
      }
    }
  });
}

}  // namespace

void GridSampleKernel(const GridSampleArgs<float>& args) { Sample(args); }
void GridSampleKernel(const GridSampleArgs<double>& args) { Sample(args); }
void GridSampleGradInputKernel(const GridSampleArgs<float>& args) { SampleGradInput(args); }
void GridSampleGradInputKernel(const GridSampleArgs<double>& args) { SampleGradInput(args); }
void GridSampleGradGridKernel(const GridSampleArgs<float>& args) { SampleGradGrid(args); }
void GridSampleGradGridKernel(const GridSampleArgs<double>& args) { SampleGradGrid(args); }

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

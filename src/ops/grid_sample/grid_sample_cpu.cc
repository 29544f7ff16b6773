// SPDX-License-Identifier: MIT
#include <algorithm>
#include <limits>

#include "base/parallel.h"
#include "drivers/reduce_cpu-inl.h"
#include "drivers/row_cpu-inl.h"
#include "ops/grid_sample/grid_sample_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

using hn::Floor;

#include "ops/grid_sample/grid_sample.row.h"

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
using IndexTag = IntTag<TagOf<T>>;
template <class T>
using Index = hn::TFromD<IndexTag<T>>;

constexpr int kMaxTaps = 4;

/// The neighbours of a vector of places along one axis. A slope is the derivative of a weight.
template <class T>
struct Taps {
  HWY_ALIGN Index<T> indices[kMaxTaps][kLanesOf<T>];
  HWY_ALIGN T weights[kMaxTaps][kLanesOf<T>];
  HWY_ALIGN T slopes[kMaxTaps][kLanesOf<T>];
};

/// Finds the neighbours of a vector of places along one axis.
template <class T>
HWY_INLINE void FindTaps(const GridAxis<T>& axis, VecOf<T> g, Taps<T>& taps) {
  const TagOf<T> d;
  axis.Find(d, g, [&](int k, VecOf<T> place, VecOf<T> weight, VecOf<T> slope) HWY_ATTR {
    const IndexTag<T> di;
    const auto inside = axis.IsInside(d, place);
    const auto index = hn::ConvertTo(di, IfThenElseZero(inside, place));
    Store(IfThenElse(MaskTo(di, inside), index, Set(di, kOutside)), di, taps.indices[k]);
    Store(weight, d, taps.weights[k]);
    Store(slope, d, taps.slopes[k]);
  });
}

/// Up to a vector of places of a grid, one after the other, as a vector for each axis. Lanes without a place have zeros.
template <class T>
HWY_INLINE void LoadPlaces(const T* grid, int rank, int64_t count, VecOf<T>& x, VecOf<T>& y, VecOf<T>& z) {
  const TagOf<T> d;
  HWY_ALIGN T buffer[3 * kLanesOf<T>];
  if (count < kLanesOf<T>) {
    std::fill_n(buffer, 3 * kLanesOf<T>, T{0});
    std::copy_n(grid, count * rank, buffer);
    grid = buffer;
  }
  if (rank == 2) {
    hn::LoadInterleaved2(d, grid, x, y);
    z = Zero(d);
  } else {
    hn::LoadInterleaved3(d, grid, x, y, z);
  }
}

/// The neighbours of some places: of each the index of an element, or kOutside, and the weight.
template <class T>
class Neighbours {
 public:
  explicit Neighbours(const GridSampleArgs<T>& args)
      : args_(args), axes_{AxisOf(args, 0), AxisOf(args, 1), AxisOf(args, args.rank - 1)}, taps_(TapsOf(args.mode)) {}

  int corners() const { return args_.rank == 2 ? taps_ * taps_ : taps_ * taps_ * taps_; }

  /// Neighbour k of place i goes to k * stride + i. The weight of one outside is +0. `slopes`, if not null, has a plane
  /// for each axis. Rows of whole vectors are written to the end of the last vector.
  void List(const T* grid, int64_t count, int64_t stride, Index<T>* indices, T* weights, T* slopes) const {
    const TagOf<T> d;
    const IndexTag<T> di;
    const int rank = args_.rank, deep = rank == 2 ? 1 : taps_;
    const int64_t plane = corners() * stride;
    const bool is_padded = stride % kLanesOf<T> == 0;
    const auto width = Set(di, static_cast<Index<T>>(args_.sizes[0]));
    const auto height = Set(di, static_cast<Index<T>>(args_.sizes[1]));
    Taps<T> x, y, z;
    ForVectors<T>(count, [&](int64_t i, int64_t lanes) HWY_ATTR {
      VecOf<T> gx, gy, gz;
      LoadPlaces(grid + i * rank, rank, lanes, gx, gy, gz);
      FindTaps(axes_[0], gx, x);
      FindTaps(axes_[1], gy, y);
      if (rank == 3) FindTaps(axes_[2], gz, z);
      const int64_t written = is_padded ? kLanesOf<T> : lanes;
      int64_t at = i;
      for (int c = 0; c < deep; ++c) {
        for (int b = 0; b < taps_; ++b) {
          for (int a = 0; a < taps_; ++a, at += stride) {
            const auto along = [&](const Taps<T>& axis, int k) HWY_ATTR { return Load(di, axis.indices[k]); };
            const auto weight_of = [&](const Taps<T>& axis, int k) HWY_ATTR { return Load(d, axis.weights[k]); };
            const auto slope_of = [&](const Taps<T>& axis, int k) HWY_ATTR { return Load(d, axis.slopes[k]); };
            auto lowest = Min(along(x, a), along(y, b));
            auto index = along(y, b);
            VecOf<T> weight = Mul(weight_of(x, a), weight_of(y, b));
            if (rank == 3) {
              weight = Mul(weight, weight_of(z, c));
              index = Add(Mul(along(z, c), height), index);
              lowest = Min(lowest, along(z, c));
            }
            index = Add(Mul(index, width), along(x, a));
            const auto outside = Lt(lowest, Zero(di));
            index = IfThenElse(outside, Set(di, kOutside), index);
            if (written == kLanesOf<T>) {
              StoreU(index, di, indices + at);
            } else {
              hn::BlendedStore(index, hn::FirstN(di, static_cast<size_t>(written)), di, indices + at);
            }
            StoreN<T>(IfThenZeroElse(MaskTo(d, outside), weight), weights + at, written);
            if (slopes == nullptr) continue;
            const auto product = [&](VecOf<T> of_x, VecOf<T> of_y, VecOf<T> of_z)
                                     HWY_ATTR { return rank == 3 ? Mul(Mul(of_x, of_y), of_z) : Mul(of_x, of_y); };
            const VecOf<T> wx = weight_of(x, a), wy = weight_of(y, b), wz = rank == 3 ? weight_of(z, c) : Zero(d);
            StoreN<T>(product(slope_of(x, a), wy, wz), slopes + at, written);
            StoreN<T>(product(wx, slope_of(y, b), wz), slopes + plane + at, written);
            if (rank == 3) StoreN<T>(product(wx, wy, slope_of(z, c)), slopes + 2 * plane + at, written);
          }
        }
      }
    });
  }

 private:
  const GridSampleArgs<T>& args_;
  GridAxis<T> axes_[3];
  int taps_;
};

/// Where a coordinate is NaN.
template <class T>
HWY_INLINE MaskOf<T> AreLost(const T* grid, int rank, int64_t count) {
  VecOf<T> x, y, z;
  LoadPlaces(grid, rank, count, x, y, z);
  return Or(IsNaN(x), Or(IsNaN(y), IsNaN(z)));
}

/// The elements of a plane at some indices; +0 for one outside.
template <class T>
HWY_INLINE VecOf<T> ElementsAt(const T* plane, const Index<T>* indices) {
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
    auto* const indices = scratch.Get<Index<T>>(corners * kBlock);
    T* const weights = scratch.Get<T>(corners * kBlock);
    const T* const grid = args.grid + (n * args.places + first) * args.rank;
    neighbours.List(grid, count, kBlock, indices, weights, nullptr);
    ForVectors<T>(count, [&](int64_t i, int64_t lanes) HWY_ATTR {
      const auto lost = AreLost(grid + i * args.rank, args.rank, lanes);
      StoreU(IfThenElse(lost, hn::NaN(d), LoadU(d, weights + i)), d, weights + i);
    });
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
void AddToPlanes(const Index<T>* indices, const T* weights, int64_t terms, int64_t places, int64_t elements,
                 const T* grad, T* to) {
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
  constexpr int kPlanes = 4;
  const Neighbours<T> neighbours(args);
  const int64_t corners = neighbours.corners(), elements = args.Elements(), terms = corners * args.places;
  Scratch scratch;
  const int64_t groups = (args.channels + kPlanes - 1) / kPlanes;
  // Of as many samples as have a table of reasonable size, so that forks are few; or as leave each thread some planes.
  const int64_t together =
      std::clamp(std::max<int64_t>(kMaxTerms / terms, GetNumThreads() / groups), int64_t{1}, args.batch);
  Index<T>* const indices = scratch.Get<Index<T>>(together * terms);
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
    Index<T>* const indices = scratch.Get<Index<T>>(table);
    T* const weights = scratch.Get<T>(table);
    T* const slopes = scratch.Get<T>(rank * table);
    T* const along = scratch.Get<T>(kBlock + kLanesOf<T>);
    T* const sums = scratch.Get<T>(rank * kBlock);
    std::fill_n(sums, rank * kBlock, T{0});
    std::fill_n(along, kBlock + kLanesOf<T>, T{0});
    neighbours.List(args.grid + (n * args.places + first) * rank, count, kBlock, indices, weights, slopes);
    for (int64_t k = 0; k < corners; ++k) {
      const Index<T>* const of_corner = indices + k * kBlock;
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
      const bool lost = std::any_of(at + i * rank, at + (i + 1) * rank, [](T x) { return x != x; });
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

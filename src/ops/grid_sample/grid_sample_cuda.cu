// SPDX-License-Identifier: MIT
#include "base/cuda_launch.h"
#include "base/op_scratch.h"
#include "drivers/contiguous.h"
#include "drivers/row_cuda_thread.h"
#include "ops/grid_sample/grid_sample_kernel.h"

namespace repdl::scalar {

#include "ops/grid_sample/grid_sample.row.h"

}  // namespace repdl::scalar

namespace repdl::cuda {

inline constexpr int kMaxTaps = 4, kMaxGridAxes = 3;

/// The neighbours of a place: index -1 lies outside.
template <class T>
struct GridNeighbours {
  struct Tap {
    int64_t index;
    T weight, slope;
  };
  int rank, taps;
  int64_t width, height;
  Tap along[kMaxGridAxes][kMaxTaps];
  bool is_lost = false;  // a coordinate is NaN

  REPDL_ROW GridNeighbours(const GridSampleArgs<T>& args, int64_t place)
      : rank(args.rank), taps(scalar::TapsOf(args.mode)), width(args.sizes[0]), height(args.sizes[1]) {
    const scalar::Tag<T> d;
    for (int axis = 0; axis < rank; ++axis) {
      const scalar::GridAxis<T> finder = scalar::AxisOf(args, axis);
      const T g = args.grid[place * rank + axis];
      is_lost = is_lost || g != g;
      finder.Find(d, g, [&](int k, T at, T weight, T slope) {
        along[axis][k] = {finder.IsInside(d, at) ? static_cast<int64_t>(at) : -1, weight, slope};
      });
    }
  }

  REPDL_ROW int Corners() const { return rank == 2 ? taps * taps : taps * taps * taps; }
  REPDL_ROW const Tap& TapOf(int corner, int axis) const {
    for (int i = 0; i < axis; ++i) corner /= taps;
    return along[axis][corner % taps];
  }
  /// The element of a corner, or -1.
  REPDL_ROW int64_t Index(int corner) const {
    int64_t lowest = 0, index = 0;
    for (int axis = rank - 1; axis >= 0; --axis) {
      const int64_t at = TapOf(corner, axis).index;
      lowest = at < lowest ? at : lowest;
      index = index * (axis == 0 ? width : height) + at;
    }
    return lowest < 0 ? -1 : index;
  }
  /// The product of the weights, with the slope in the place of that of one axis.
  REPDL_ROW T Product(int corner, int sloping) const {
    const auto factor = [&](int axis) {
      const Tap& tap = TapOf(corner, axis);
      return axis == sloping ? tap.slope : tap.weight;
    };
    const T product = scalar::Mul(factor(0), factor(1));
    return rank == 3 ? scalar::Mul(product, factor(2)) : product;
  }
  /// +0 outside.
  REPDL_ROW T Weight(int corner) const { return Index(corner) < 0 ? T{0} : Product(corner, -1); }
};

template <class T>
REPDL_ROW T NaN() {
  return scalar::Sub(scalar::Inf(scalar::Tag<T>()), scalar::Inf(scalar::Tag<T>()));
}

/// The samples of a place by each thread.
template <class T>
__global__ void __launch_bounds__(kThreadsPerBlock) SampleKernel(const __grid_constant__ GridSampleArgs<T> args) {
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x, elements = args.sizes[0] * args.sizes[1] * args.sizes[2];
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < args.batch * args.places; i += num_threads) {
    const GridNeighbours<T> near(args, i);
    int64_t n = i;
    const int64_t place = scalar::TakeRemainder(n, args.places);
    for (int64_t c = n * args.channels; c < (n + 1) * args.channels; ++c) {
      T sum = 0;
      for (int k = 0; k < near.Corners(); ++k) {
        const int64_t at = near.Index(k);
        const T x = at < 0 ? T{0} : args.input[c * elements + at], weight = near.Weight(k);
        const T product = scalar::Mul(x, k == 0 && near.is_lost ? NaN<T>() : weight);
        sum = k == 0 ? product : scalar::Add(sum, product);
      }
      args.output[c * args.places + place] = sum;
    }
  }
}

/// Neighbour k of place i of sample n at (n * corners + k) * places + i.
template <class T>
struct GridTable {
  GridSampleArgs<T> args;
  int64_t* indices;
  T* weights;
};

template <class T>
__global__ void __launch_bounds__(kThreadsPerBlock) ListKernel(const __grid_constant__ GridTable<T> table) {
  const GridSampleArgs<T>& args = table.args;
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < args.batch * args.places; i += num_threads) {
    const GridNeighbours<T> near(args, i);
    int64_t n = i;
    const int64_t place = scalar::TakeRemainder(n, args.places);
    for (int k = 0; k < near.Corners(); ++k) {
      const int64_t at = (n * near.Corners() + k) * args.places + place;
      table.indices[at] = near.Index(k);
      table.weights[at] = near.Weight(k);
    }
  }
}

/// A plane by each thread, to which terms come in their order.
template <class T>
__global__ void __launch_bounds__(kThreadsPerBlock) AddToPlanesKernel(const __grid_constant__ GridTable<T> table) {
  const GridSampleArgs<T>& args = table.args;
  const int64_t taps = scalar::TapsOf(args.mode), corners = args.rank == 2 ? taps * taps : taps * taps * taps;
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x, elements = args.sizes[0] * args.sizes[1] * args.sizes[2];
  for (int64_t c = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; c < args.batch * args.channels; c += num_threads) {
    const int64_t first = c / args.channels * corners * args.places;
    T* const to = args.grad_input + c * elements;
    for (int64_t t = 0; t < corners * args.places; ++t) {
      const int64_t at = table.indices[first + t];
      if (at < 0) continue;
      const T grad = args.grad_output[c * args.places + t % args.places];
      to[at] = scalar::Add(to[at], scalar::Mul(grad, table.weights[first + t]));
    }
  }
}

/// The gradient of a place by each thread.
template <class T>
__global__ void __launch_bounds__(kThreadsPerBlock) GradGridKernel(const __grid_constant__ GridSampleArgs<T> args) {
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x, elements = args.sizes[0] * args.sizes[1] * args.sizes[2];
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < args.batch * args.places; i += num_threads) {
    const GridNeighbours<T> near(args, i);
    int64_t n = i;
    const int64_t place = scalar::TakeRemainder(n, args.places);
    T sums[kMaxGridAxes] = {};
    for (int k = 0; k < near.Corners(); ++k) {
      const int64_t at = near.Index(k);
      const auto term = [&](scalar::RowPlace c) {
        const int64_t plane = n * args.channels + c.index;
        const T x = at < 0 ? T{0} : args.input[plane * elements + at];
        return scalar::Mul(x, args.grad_output[plane * args.places + place]);
      };
      const T along = scalar::ThreadRow<T>{{args.channels, args.order}}.Sum(term);
      for (int axis = 0; axis < args.rank; ++axis) {
        const T share = scalar::Mul(along, near.Product(k, axis));
        sums[axis] = scalar::Add(sums[axis], at < 0 ? T{0} : share);
      }
    }
    for (int axis = 0; axis < args.rank; ++axis) {
      const double size = static_cast<double>(args.sizes[axis] - (args.align_corners ? 1 : 0));
      const T half = static_cast<T>(scalar::Mul(size, 0.5));
      args.grad_grid[i * args.rank + axis] = near.is_lost ? NaN<T>() : scalar::Mul(sums[axis], half);
    }
  }
}

template <class T>
static void SampleGradInput(const Place& place, const GridSampleArgs<T>& args) {
  const int64_t taps = args.mode == GridMode::kCubic ? 4 : args.mode == GridMode::kNearest ? 1 : 2;
  const int64_t terms = args.batch * args.places * (args.rank == 2 ? taps * taps : taps * taps * taps);
  OpScratch scratch(place);
  const GridTable<T> table{args, scratch.Get<int64_t>(terms), scratch.Get<T>(terms)};
  Launch(place, args.batch * args.places, &ListKernel<T>, table);
  Launch(place, args.batch * args.channels, &AddToPlanesKernel<T>, table);
}

template <class T>
static void SampleGradGrid(const Place& place, const GridSampleArgs<T>& args) {
  const int64_t places = args.batch * args.places;
  if (args.mode == GridMode::kNearest) return FillWith(place, args.grad_grid, places * args.rank, T{0});
  Launch(place, places, &GradGridKernel<T>, args);
}

REPDL_CUDA_KERNEL(GridSampleKernel, GridSampleArgs<float>) {
  Launch(place, args.batch * args.places, &SampleKernel<float>, args);
}
REPDL_CUDA_KERNEL(GridSampleKernel, GridSampleArgs<double>) {
  Launch(place, args.batch * args.places, &SampleKernel<double>, args);
}
REPDL_CUDA_KERNEL(GridSampleGradInputKernel, GridSampleArgs<float>) { SampleGradInput(place, args); }
REPDL_CUDA_KERNEL(GridSampleGradInputKernel, GridSampleArgs<double>) { SampleGradInput(place, args); }
REPDL_CUDA_KERNEL(GridSampleGradGridKernel, GridSampleArgs<float>) { SampleGradGrid(place, args); }
REPDL_CUDA_KERNEL(GridSampleGradGridKernel, GridSampleArgs<double>) { SampleGradGrid(place, args); }

}  // namespace repdl::cuda

// SPDX-License-Identifier: MIT
#include <cmath>

#include "base/op_scratch.h"
#include "drivers/row_cuda.h"
#include "numerics/functions_scalar.h"
#include "ops/cdist/cdist_kernel.h"

namespace repdl::scalar {

#include "ops/cdist/cdist.lane.h"

REPDL_LANE_RARE float PowerOf(float x, float y) { return Pow(x, y); }
REPDL_LANE_RARE double PowerOf(double x, double y) { return PowDouble()(Tag<double>(), x, y); }

}  // namespace repdl::scalar

namespace repdl::cuda {

enum class Norm { kZero, kOne, kTwo, kInfinite, kAny };

static Norm NormOf(double p) {
  return p == 0          ? Norm::kZero
         : p == 1        ? Norm::kOne
         : p == 2        ? Norm::kTwo
         : std::isinf(p) ? Norm::kInfinite
                         : Norm::kAny;
}

/// Of which each row here is a distance, or a number of a gradient.
template <class T>
struct Distances {
  CdistArgs<T> args;
  Norm norm;
  T power, inverse;  // p, or p - 1 for a gradient, and 1 / p: the differences and quotients of doubles, rounded
  const T* powers;   // of the distances, where they are needed

  REPDL_LANE T SizeOf(T difference) const {
    switch (norm) {
      case Norm::kZero: return scalar::Zeroth()(difference);
      case Norm::kTwo: return scalar::Second()(difference);
      case Norm::kAny: return scalar::PowerOf(scalar::Abs(difference), power);
      default: return scalar::First()(difference);
    }
  }
  /// For the distance at a place.
  REPDL_LANE T SlopeOf(T difference, int64_t at) const {
    const T distance = args.distance[at];
    switch (norm) {
      case Norm::kZero: return scalar::NoSlope()(difference, distance);
      case Norm::kOne: return scalar::Sign()(difference, distance);
      case Norm::kTwo: return scalar::Quotient()(difference, distance);
      case Norm::kInfinite: return scalar::SignOfLargest()(difference, distance);
      default:
        return scalar::SlopeOfPowers(difference, scalar::PowerOf(scalar::Abs(difference), power), distance, powers[at]);
    }
  }
  /// The first row of a pair.
  REPDL_LANE int64_t FirstOfPair(int64_t pair) const {
    int64_t first = 0, end = args.n;  // rows whose pairs begin at most there, and others
    while (end - first > 1) {
      const int64_t middle = first + (end - first) / 2;
      if (args.Pairs(middle) + middle + 1 <= pair) {
        first = middle;
      } else {
        end = middle;
      }
    }
    return first;
  }
};

struct DistanceOfRows {
  template <class Row, class T>
  REPDL_ROW void operator()(const Row& row, int64_t r, const Distances<T>& distances) const {
    const CdistArgs<T>& args = distances.args;
    int64_t b = 0, i, j, at = r;
    if (args.pairs) {
      i = distances.FirstOfPair(r);
      j = r - args.Pairs(i);
    } else {
      b = r;
      j = scalar::TakeRemainder(b, args.n), i = scalar::TakeRemainder(b, args.m);
      at = b * args.m * args.n + i * args.row_stride + j * args.col_stride;
    }
    const T* const x = args.x1 + b * args.x1_step + i * args.k;
    const T* const other = args.x2 + b * args.x2_step + j * args.k;
    const auto size = [&](scalar::RowPlace place) {
      return distances.SizeOf(scalar::Sub(x[place.index], other[place.index]));
    };
    T met;
    if (distances.norm == Norm::kInfinite) {
      met = row.Reduce(size, T{0}, [](T a, T b) { return scalar::Maximum(a, b); });
    } else {
      met = row.Sum(size);
    }
    if (!row.IsFirst()) return;
    if (distances.norm == Norm::kTwo) met = scalar::Sqrt(met);
    if (distances.norm == Norm::kAny) met = scalar::PowerOf(met, distances.inverse);
    args.output[at] = met;
  }
};

/// Column c of the gradient by row i of a matrix; its distances are the places.
struct GradOfColumn {
  template <class Row, class T>
  REPDL_ROW void operator()(const Row& row, int64_t r, const Distances<T>& distances) const {
    const CdistArgs<T>& args = distances.args;
    int64_t b = r;
    const int64_t c = scalar::TakeRemainder(b, args.k), i = scalar::TakeRemainder(b, args.m);
    const T x = args.x1[b * args.x1_step + i * args.k + c];
    const T* const others = args.x2 + b * args.x2_step + c;
    const T sum = row.Sum([&](scalar::RowPlace place) {
      int64_t other = place.index, at = (b * args.m + i) * args.n + other;
      if (args.pairs) {  // those behind the row come first
        other += i + 1;
        if (other >= args.n) other -= args.n;
        at = other > i ? args.Pairs(i) + other : args.Pairs(other) + i;
      }
      return scalar::Mul(distances.SlopeOf(scalar::Sub(x, others[other * args.k]), at), args.grad_output[at]);
    });
    if (row.IsFirst()) args.grad[r] = sum;
  }
};

/// Rows of fewer numbers have a thread each, which leaves none idle.
static constexpr int64_t kShort = 16;

template <class T>
static void Run(const Place& place, const CdistArgs<T>& args) {
  const Distances<T> distances{args, NormOf(args.p), static_cast<T>(args.p), static_cast<T>(1 / args.p), nullptr};
  const int64_t rows = args.pairs ? args.n * (args.n - 1) / 2 : args.batch * args.m * args.n;
  ForRows<T, DistanceOfRows>(place, RowsArgs<Distances<T>>{rows, args.k, args.order, distances}, args.k < kShort);
}

template <class T>
struct PowersArgs {
  const T* from;
  int64_t count;
  T power;
  T* to;
};

template <class T>
__global__ void __launch_bounds__(kThreadsPerBlock) PowersKernel(const __grid_constant__ PowersArgs<T> args) {
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < args.count; at += num_threads) {
    args.to[at] = scalar::PowerOf(args.from[at], args.power);
  }
}

template <class T>
static void RunGrad(const Place& place, const CdistArgs<T>& args) {
  Distances<T> distances{args, NormOf(args.p), static_cast<T>(args.p - 1), T{0}, nullptr};
  const int64_t count = args.pairs ? args.n * (args.n - 1) / 2 : args.batch * args.m * args.n;
  OpScratch scratch(place);
  if (distances.norm == Norm::kAny && count > 0) {
    T* const powers = scratch.Get<T>(count);
    Launch(place, count, &PowersKernel<T>, {args.distance, count, distances.power, powers});
    distances.powers = powers;
  }
  const int64_t rows = args.batch * args.m * args.k, n = args.pairs ? args.n - 1 : args.n;
  ForRows<T, GradOfColumn>(place, RowsArgs<Distances<T>>{rows, n, args.order, distances}, args.k >= kShort);
}

REPDL_CUDA_KERNEL(CdistKernel, CdistArgs<float>) { Run(place, args); }
REPDL_CUDA_KERNEL(CdistKernel, CdistArgs<double>) { Run(place, args); }
REPDL_CUDA_KERNEL(CdistGradKernel, CdistArgs<float>) { RunGrad(place, args); }
REPDL_CUDA_KERNEL(CdistGradKernel, CdistArgs<double>) { RunGrad(place, args); }

}  // namespace repdl::cuda

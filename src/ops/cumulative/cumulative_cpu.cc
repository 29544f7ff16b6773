// SPDX-License-Identifier: MIT
#include "base/parallel.h"
#include "drivers/row_cpu-inl.h"
#include "drivers/row_functions_cpu-inl.h"
#include "numerics/complex_highway-inl.h"
#include "ops/cumulative/cumulative_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

#include "ops/cumulative/cumulative.row.h"

/// Lines side by side: enough that a step of one does not wait for the step before.
constexpr int kLines = 16;
/// Places of them that are computed at a time.
constexpr int64_t kPlaces = 64;

/// What a line has come to.
struct SumState {
  double total[kLines] = {};
  HWY_INLINE void Take(const double* x, double* y) {
    for (int q = 0; q < kLines; ++q) y[q] = total[q] = total[q] + x[q];
  }
};

struct ProductState {
  double total[kLines];
  ProductState() { std::fill_n(total, kLines, 1.0); }
  HWY_INLINE void Take(const double* x, double* y) {
    for (int q = 0; q < kLines; ++q) y[q] = total[q] = total[q] * x[q];
  }
};

struct LogSumExpState {
  HWY_ALIGN double largest[kLines];
  HWY_ALIGN double rest[kLines] = {};
  LogSumExpState() { std::fill_n(largest, kLines, -HUGE_VAL); }
  HWY_INLINE void Take(const double* from, double* y) {
    const TagOf<double> d;
    for (int q = 0; q < kLines; q += static_cast<int>(kLanesOf<double>)) {
      VecOf<double> m = LoadU(d, largest + q), r = LoadU(d, rest + q);
      StoreU(LogSumExpStep(d, LoadU(d, from + q), m, r), d, y + q);
      StoreU(m, d, largest + q);
      StoreU(r, d, rest + q);
    }
  }
};

template <class State, class T>
static void Run(const CumulativeArgs<T>& args) {
  const int64_t num_lines = args.outer * args.inner;
  const int64_t num_groups = (num_lines + kLines - 1) / kLines;
  const int64_t weight = std::is_same_v<State, LogSumExpState> ? 32 : 1;
  const int64_t grain = 16384 / (args.n * kLines * weight) + 1;
  ParallelRanges(num_groups, grain, [&](int64_t begin, int64_t end) HWY_ATTR {
    HWY_ALIGN double x[kPlaces][kLines], y[kPlaces][kLines];
    for (int64_t group = begin; group < end; ++group) {
      // The last group repeats its last line.
      int64_t at[kLines];
      const int64_t first = group * kLines, count = std::min<int64_t>(kLines, num_lines - first);
      for (int64_t q = 0; q < kLines; ++q) {
        const int64_t line = first + std::min(q, count - 1);
        at[q] = line / args.inner * args.n * args.inner + line % args.inner;
      }
      const bool side_by_side = count == kLines && at[kLines - 1] - at[0] == kLines - 1;
      State state;
      for (int64_t i = 0; i < args.n; i += kPlaces) {
        const int64_t places = std::min(kPlaces, args.n - i);
        if (side_by_side) {
          for (int64_t p = 0; p < places; ++p) {
            const T* const from = args.x + at[0] + (i + p) * args.inner;
            for (int q = 0; q < kLines; ++q) x[p][q] = static_cast<double>(from[q]);
          }
        } else {
          for (int64_t q = 0; q < kLines; ++q) {
            const T* const from = args.x + at[q] + i * args.inner;
            for (int64_t p = 0; p < places; ++p) x[p][q] = static_cast<double>(from[p * args.inner]);
          }
        }
        for (int64_t p = 0; p < places; ++p) state.Take(x[p], y[p]);
        if (side_by_side) {
          for (int64_t p = 0; p < places; ++p) {
            T* const to = args.output + at[0] + (i + p) * args.inner;
            for (int q = 0; q < kLines; ++q) to[q] = static_cast<T>(y[p][q]);
          }
        } else {
          for (int64_t q = 0; q < count; ++q) {
            T* const to = args.output + at[q] + i * args.inner;
            for (int64_t p = 0; p < places; ++p) to[p * args.inner] = static_cast<T>(y[p][q]);
          }
        }
      }
    }
  });
}

/// Of complex numbers, a vector of lines at a time.
template <class State, class T>
static void RunPairs(const CumulativeArgs<T>& args) {
  const TagOf<double> d;
  constexpr int64_t kVec = kLanesOf<double>;
  const int64_t num_lines = args.outer * args.inner, num_groups = (num_lines + kVec - 1) / kVec;
  ParallelRanges(num_groups, 8192 / (args.n * kVec * State::kWeight) + 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    HWY_ALIGN double real[kVec] = {}, imaginary[kVec] = {};
    for (int64_t group = begin; group < end; ++group) {
      const int64_t first = group * kVec, count = std::min(kVec, num_lines - first);
      int64_t at[kVec];
      for (int64_t q = 0; q < count; ++q) {
        at[q] = 2 * ((first + q) / args.inner * args.n * args.inner + (first + q) % args.inner);
      }
      State state(d);
      for (int64_t i = 0; i < args.n; ++i) {
        for (int64_t q = 0; q < count; ++q) {
          real[q] = static_cast<double>(args.x[at[q]]);
          imaginary[q] = static_cast<double>(args.x[at[q] + 1]);
        }
        VecOf<double> a = Load(d, real), b = Load(d, imaginary);
        state.Take(d, i == 0, a, b);
        Store(a, d, real);
        Store(b, d, imaginary);
        for (int64_t q = 0; q < count; ++q) {
          args.output[at[q]] = static_cast<T>(real[q]);
          args.output[at[q] + 1] = static_cast<T>(imaginary[q]);
          at[q] += 2 * args.inner;
        }
      }
    }
  });
}

/// kRows lines from `line` on, whose places lie side by side.
template <int kRows, class T, class Step>
static void RunRows(const CumulativeArgs<T>& args, int64_t line, double first, const Step& step) {
  double total[kRows];
  std::fill_n(total, kRows, first);
  const T* const x = args.x + line * args.n;
  T* const y = args.output + line * args.n;
  for (int64_t i = 0; i < args.n; ++i) {
#pragma GCC unroll 4
    for (int64_t q = 0; q < kRows; ++q) {
      y[q * args.n + i] = static_cast<T>(total[q] = step(total[q], x[q * args.n + i]));
    }
  }
}

/// Where the places of a line lie side by side, some lines at a time: a chain is bound by the latency of a step.
template <class State, class T, class Step>
static void RunChains(const CumulativeArgs<T>& args, double first, const Step& step) {
  if (args.inner > 1) return Run<State>(args);
  constexpr int kRows = 4;
  const int64_t groups = args.outer / kRows, lines = groups * kRows;
  ParallelRanges(groups + args.outer - lines, 16384 / (args.n * kRows) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      if (task < groups) {
        RunRows<kRows>(args, task * kRows, first, step);
      } else {
        RunRows<1>(args, lines + task - groups, first, step);
      }
    }
  });
}

template <class T>
static void RunAny(const CumulativeArgs<T>& args) {
  switch (args.op) {
    case Cumulative::kSum: return RunChains<SumState>(args, 0.0, [](double total, double x) { return total + x; });
    case Cumulative::kProduct:
      return RunChains<ProductState>(args, 1.0, [](double total, double x) { return total * x; });
    case Cumulative::kComplexProduct: return RunPairs<ComplexProductState<VecOf<double>>>(args);
    case Cumulative::kComplexLogSumExp: return RunPairs<ComplexLogSumExpState<VecOf<double>>>(args);
    case Cumulative::kLogSumExp: return Run<LogSumExpState>(args);
  }
}

void CumulativeKernel(const CumulativeArgs<float>& args) { RunAny(args); }
void CumulativeKernel(const CumulativeArgs<double>& args) { RunAny(args); }

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

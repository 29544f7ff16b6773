// SPDX-License-Identifier: MIT
#include "base/parallel.h"
#include "drivers/rows_as_columns_cpu-inl.h"
#include "drivers/vector_cpu-inl.h"
#include "numerics/complex_arithmetic_highway-inl.h"
#include "numerics/order.h"
#include "ops/prod/prod_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

/// Columns whose lanes stay in the L1 cache.
constexpr int64_t kStrip = 32;
/// Numbers of a row up to which rows go as columns: alone, a row is folded from all lanes.
constexpr int64_t kShort = 16;

/// lanes[0] * … of the lanes that have a term, folded by halves, each of `width` columns; they end in the first.
static HWY_INLINE void FoldProducts(int64_t used, int64_t width, double* lanes) {
  for (int64_t h = kSumLanes / 2; h >= 1; h /= 2) {
    for (int64_t lane = 0; lane < h && lane + h < used; ++lane) {
      double* const left = lanes + lane * width;
      for (int64_t j = 0; j < width; ++j) left[j] = left[j] * left[h * width + j];
    }
  }
}

static HWY_INLINE VecOf<double> LoadWide(const double* x) { return LoadU(TagOf<double>(), x); }
static HWY_INLINE VecOf<double> LoadWide(const float* x) {
  const TagOf<double> d;
  return ToDouble(d, LoadU(hn::Rebind<float, TagOf<double>>(), x));
}

/// A chunk of n numbers side by side. Lanes that have no term are 1, and change nothing.
template <class T>
static double ChunkOfRow(const T* x, int64_t n) {
  const TagOf<double> d;
  constexpr int64_t kVec = kLanesOf<double>, kVecs = kSumLanes / kVec;
  VecElementOf<double> acc[kVecs];
  for (int64_t v = 0; v < kVecs; ++v) acc[v] = Set(d, 1.0);
  int64_t i = 0;
  for (; i + kSumLanes <= n; i += kSumLanes) {
#pragma GCC unroll 64
    for (int64_t v = 0; v < kVecs; ++v) acc[v] = Mul(acc[v], LoadWide(x + i + v * kVec));
  }
  if (i < n) {
    T rest[kSumLanes];
    std::fill(std::copy(x + i, x + n, rest), rest + kSumLanes, T{1});
    for (int64_t v = 0; v < kVecs; ++v) acc[v] = Mul(acc[v], LoadWide(rest + v * kVec));
  }
#pragma GCC unroll 8
  for (int64_t h = kVecs / 2; h >= 1; h /= 2) {
#pragma GCC unroll 64
    for (int64_t v = 0; v < h; ++v) acc[v] = Mul(acc[v], acc[v + h]);
  }
  HWY_ALIGN double lanes[kVec];
  Store(acc[0], d, lanes);
  FoldProducts(kVec, 1, lanes);
  return lanes[0];
}

/// Rows [0, n) of a chunk of `width` columns, which are `inner` apart; they end in the first lane.
template <class T>
static void ChunkOfColumns(const T* x, int64_t n, int64_t inner, int64_t width, double* lanes) {
  for (int64_t i = 0; i < n; ++i) {
    double* const lane = lanes + i % kSumLanes * width;
    const T* const row = x + i * inner;
    if (i < kSumLanes) {
      for (int64_t j = 0; j < width; ++j) lane[j] = static_cast<double>(row[j]);
    } else {
      for (int64_t j = 0; j < width; ++j) lane[j] = lane[j] * static_cast<double>(row[j]);
    }
  }
  FoldProducts(std::min(n, kSumLanes), width, lanes);
}

template <class T>
static void RunRowsAsColumns(const ProdArgs<T>& args) {
  const auto row_at = [&](int64_t r, T*) { return args.x + r * args.n; };
  ForRowsAsColumns<T, kShort>(args.outer, args.n, row_at, [&](int64_t first, int64_t count, const T* columns) HWY_ATTR {
    HWY_ALIGN double lanes[kShort * kRowsAsColumns];
    ChunkOfColumns(columns, args.n, kColumnStep, count, lanes);
    for (int64_t r = 0; r < count; ++r) args.output[first + r] = static_cast<T>(lanes[r]);
  });
}

/// The tree over the products of chunks.
class ChunkProducts {
 public:
  explicit ChunkProducts(const double* chunks) : chunks_(chunks) {}
  void Chain(int64_t begin, int64_t) { value_ = chunks_[begin / kSumChunk]; }
  void TakeIn(int level) { value_ = waiting_[level] * value_; }
  void Park(int level) { waiting_[level] = value_; }
  void End() {}
  double value() const { return value_; }

 private:
  const double* chunks_;
  double value_ = 1;
  double waiting_[kMaxLevels];
};

template <class T>
static void Run(const ProdArgs<T>& args) {
  if (args.n == 0) {
    std::fill_n(args.output, args.outer * args.inner, T{1});
    return;
  }
  if (args.inner == 1 && AreRowsAsColumns<T, kShort>(args.outer, args.n)) return RunRowsAsColumns(args);
  const Chunks chunks(args.n, kSumChunk);
  const int64_t strips = (args.inner + kStrip - 1) / kStrip;
  const int64_t work = std::min(args.n, kSumChunk) * std::min(args.inner, kStrip);
  ParallelRanges(args.outer * strips * chunks.count, 16384 / work + 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    HWY_ALIGN double lanes[kSumLanes * kStrip];
    for (int64_t task = begin; task < end; ++task) {
      const int64_t chunk = task % chunks.count, outer = task / chunks.count / strips;
      const int64_t column = task / chunks.count % strips * kStrip, first = chunks.Begin(chunk);
      const int64_t n = chunks.End(chunk) - first, width = std::min(kStrip, args.inner - column);
      const T* const x = args.x + (outer * args.n + first) * args.inner + column;
      double* const to = args.chunks + (outer * args.inner + column) * chunks.count + chunk;
      if (args.inner == 1) {
        *to = ChunkOfRow(x, n);
      } else {
        ChunkOfColumns(x, n, args.inner, width, lanes);
        for (int64_t j = 0; j < width; ++j) to[j * chunks.count] = lanes[j];
      }
    }
  });
  for (int64_t line = 0; line < args.outer * args.inner; ++line) {
    ChunkProducts products(args.chunks + line * chunks.count);
    WalkChunks(chunks, products);
    args.output[line] = static_cast<T>(products.value());
  }
}

/// Lanes of complex numbers.
struct ComplexLanes {
  HWY_ALIGN double real[kSumLanes], imaginary[kSumLanes];

  template <class T>
  void Take(const T* x, int64_t step, int64_t count) {
    for (int64_t l = 0; l < count; ++l) {
      real[l] = static_cast<double>(x[l * step]);
      imaginary[l] = static_cast<double>(x[l * step + 1]);
    }
  }
  /// Lanes 0, 1, … times as many others.
  void Multiply(const double* other_real, const double* other_imaginary, int64_t count) {
    const TagOf<double> d;
    ForVectors<double>(count, [&](int64_t l, int64_t n) HWY_ATTR {
      VecOf<double> a, b;
      ComplexMul()(d, LoadN(real + l, n), LoadN(imaginary + l, n), LoadN(other_real + l, n),
                   LoadN(other_imaginary + l, n), a, b);
      StoreN(a, real + l, n);
      StoreN(b, imaginary + l, n);
    });
  }
};

/// A chunk of n > 0 complex numbers, which are `step` apart.
template <class T>
static void ComplexChunk(const T* x, int64_t n, int64_t step, double* product) {
  ComplexLanes lanes, next;
  const int64_t used = std::min(n, kSumLanes);
  lanes.Take(x, step, used);
  for (int64_t i = kSumLanes; i < n; i += kSumLanes) {
    const int64_t count = std::min(kSumLanes, n - i);
    next.Take(x + i * step, step, count);
    lanes.Multiply(next.real, next.imaginary, count);
  }
  for (int64_t h = kSumLanes / 2; h >= 1; h /= 2) {
    if (used > h) lanes.Multiply(lanes.real + h, lanes.imaginary + h, std::min(h, used - h));
  }
  product[0] = lanes.real[0], product[1] = lanes.imaginary[0];
}

/// The tree over the products of chunks of complex numbers.
class ComplexChunkProducts {
 public:
  explicit ComplexChunkProducts(const double* chunks) : chunks_(chunks) {}
  void Chain(int64_t begin, int64_t) { value_ = At(begin / kSumChunk); }
  void TakeIn(int level) {
    const TagOf<double> d;
    const Pair& earlier = waiting_[level];
    VecOf<double> real, imaginary;
    ComplexMul()(d, Set(d, earlier.real), Set(d, earlier.imaginary), Set(d, value_.real), Set(d, value_.imaginary),
                 real, imaginary);
    value_ = {hn::GetLane(real), hn::GetLane(imaginary)};
  }
  void Park(int level) { waiting_[level] = value_; }
  void End() {}

  template <class T>
  void Put(T* to) const {
    to[0] = static_cast<T>(value_.real), to[1] = static_cast<T>(value_.imaginary);
  }

 private:
  struct Pair {
    double real, imaginary;
  };
  Pair At(int64_t chunk) const { return {chunks_[2 * chunk], chunks_[2 * chunk + 1]}; }

  const double* chunks_;
  Pair value_ = {1, 0};
  Pair waiting_[kMaxLevels];
};

template <class T>
static void RunComplex(const ProdArgs<T>& args) {
  const Chunks chunks(args.n, kSumChunk);
  const int64_t num_lines = args.outer * args.inner;
  if (args.n == 0) {
    for (int64_t i = 0; i < 2 * num_lines; ++i) args.output[i] = i % 2 == 0 ? T{1} : T{0};
    return;
  }
  ParallelRanges(num_lines * chunks.count, 8192 / std::min(args.n, kSumChunk) + 1,
                 [&](int64_t begin, int64_t end) HWY_ATTR {
                   for (int64_t at = begin; at < end; ++at) {
                     const int64_t line = at / chunks.count, chunk = at % chunks.count, first = chunks.Begin(chunk);
                     const int64_t start = (line / args.inner * args.n + first) * args.inner + line % args.inner;
                     ComplexChunk(args.x + 2 * start, chunks.End(chunk) - first, 2 * args.inner, args.chunks + 2 * at);
                   }
                 });
  for (int64_t line = 0; line < num_lines; ++line) {
    ComplexChunkProducts products(args.chunks + 2 * line * chunks.count);
    WalkChunks(chunks, products);
    products.Put(args.output + 2 * line);
  }
}

void ComplexProdKernel(const ProdArgs<float>& args) { RunComplex(args); }
void ComplexProdKernel(const ProdArgs<double>& args) { RunComplex(args); }

void ProdKernel(const ProdArgs<float>& args) { Run(args); }
void ProdKernel(const ProdArgs<double>& args) { Run(args); }

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "drivers/reflections_cpu-inl.h"
#include "ops/qr/qr_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

/// 2^e for the exponent e of a number whose square double does not hold, at most 2^±1000; else 1.
double ScaleFor(double largest) {
  if (!(largest > 0) || largest == HUGE_VAL) return 1;
  const int exponent = std::ilogb(largest);
  return std::abs(exponent) <= 480 ? 1 : std::ldexp(1.0, std::clamp(exponent, -1000, 1000));
}

/// Divides the columns, or with pivot all of them alike, by the scales, powers of two, which it writes.
void Scale(const Qr& qr, bool pivot, double* scales) {
  for (int64_t j = 0; j < qr.n; ++j) {
    double largest = 0;
    for (int64_t i = 0; i < qr.m; ++i) largest = std::max(largest, std::abs(qr.At(i, j)));  // which a NaN leaves
    scales[j] = largest;
  }
  if (pivot && qr.n > 0) std::fill_n(scales, qr.n, *std::max_element(scales, scales + qr.n));
  for (int64_t j = 0; j < qr.n; ++j) {
    scales[j] = ScaleFor(scales[j]);
    if (scales[j] == 1) continue;
    for (int64_t i = 0; i < qr.m; ++i) qr.At(i, j) *= 1 / scales[j];
  }
}

/// Multiplies the columns of R by the scales.
void ScaleBack(const Qr& qr, const double* scales) {
  for (int64_t j = 0; j < qr.n; ++j) {
    if (scales[j] == 1) continue;
    for (int64_t i = 0; i < std::min(qr.m, j + 1); ++i) qr.At(i, j) *= scales[j];
  }
}

/// The rows of one matrix, or those of the identity, to the output.
void ReflectRows(const HouseholderArgs& args, const Rows& vectors, const double* tau, int64_t matrix) {
  const int64_t m = args.m, count = args.num_reflections, num_rows = args.num_rows;
  const int64_t num_blocks = (num_rows + kWidth - 1) / kWidth;
  const int64_t grain = 50000 / (m * kWidth * count + 1) + 1;
  ParallelRanges(num_blocks, grain, [&](int64_t begin, int64_t end) {
    Scratch own;
    const Block x{own.Get<double>(m * kWidth)};
    for (int64_t block = begin; block < end; ++block) {
      const int64_t first = block * kWidth, width = std::min(kWidth, num_rows - first);
      if (args.rows.data == nullptr) {
        std::fill_n(x.data, m * kWidth, 0.0);
        for (int64_t j = 0; j < width; ++j) x[first + j][j] = 1.0;
      } else {
        Matrices part = args.rows;
        DispatchReal(part.dtype,
                     [&]<class T>() { part.data = static_cast<const T*>(part.data) + first * part.row_stride; });
        LoadRows(part.Transposed(), matrix, m, width, {x.data, kWidth});
        for (int64_t i = 0; i < m; ++i) std::fill(x[i] + width, x[i] + kWidth, 0.0);
      }
      Reflect(vectors, tau, args.adjoint ? 0 : count - 1, args.adjoint ? 1 : -1, count, m, x);
      StoreColumns({x.data, kWidth}, m, width, args.rows.dtype, args.output, (matrix * num_rows + first) * m);
    }
  });
}

/// Q and R of the factors of one matrix.
void StoreQr(const GeqrfArgs& args, const Qr& qr, int64_t matrix) {
  const int64_t m = args.m, n = args.n, k = args.num_columns;
  DispatchReal(args.input.dtype, [&]<class T>() {
    T* out = static_cast<T*>(args.r) + matrix * n * k;
    for (int64_t j = 0; j < n; ++j, out += k) {
      for (int64_t i = 0; i < k; ++i) out[i] = i <= j ? static_cast<T>(qr.At(i, j)) : T{0};
    }
  });
  HouseholderArgs of_q{};
  of_q.m = m, of_q.num_reflections = std::min(m, n), of_q.num_rows = k;
  of_q.rows.dtype = args.input.dtype;
  of_q.output = args.q;
  ReflectRows(of_q, qr.vectors, qr.tau, matrix);
}

}  // namespace

void GeqrfKernel(const GeqrfArgs& args) {
  const int64_t m = args.m, n = args.n, steps = std::min(m, n);
  ForMatrices(args.batch, 2 * m * n * steps, [&](int64_t matrix) {
    Scratch scratch;
    const int64_t num_blocks = (n + kWidth - 1) / kWidth;
    double* const tau = scratch.Get<double>(steps);
    int64_t* const order = args.order == nullptr ? scratch.Get<int64_t>(n) : args.order + matrix * n;
    const Qr qr{m, n, scratch.Get<double>(num_blocks * m * kWidth), NewRows(scratch, steps, m), tau, order, 0};
    for (int64_t j = 0; j < n; ++j) qr.order[j] = j;
    for (int64_t block = 0; block < num_blocks; ++block) {
      const int64_t cols = std::min(kWidth, n - block * kWidth);
      Matrices part = args.input;
      DispatchReal(part.dtype,
                   [&]<class T>() { part.data = static_cast<const T*>(part.data) + block * kWidth * part.col_stride; });
      LoadRows(part, matrix, m, cols, {qr.At(block).data, kWidth});
      for (int64_t i = 0; i < m; ++i) std::fill(qr.At(block)[i] + cols, qr.At(block)[i] + kWidth, 0.0);
    }
    const bool is_double = args.input.dtype == DType::kFloat64;  // which float numbers do not get out of
    double* const scales = is_double ? scratch.Get<double>(n) : nullptr;
    if (is_double) Scale(qr, args.pivot, scales);
    qr.Run(args.pivot);
    if (is_double) ScaleBack(qr, scales);
    if (args.factors == nullptr) return StoreQr(args, qr, matrix);
    DispatchReal(args.input.dtype, [&]<class T>() {
      T* out = static_cast<T*>(args.factors) + matrix * n * m;
      for (int64_t j = 0; j < n; ++j, out += m) {
        const int64_t above = std::min(m, j + 1);
        for (int64_t i = 0; i < above; ++i) out[i] = static_cast<T>(qr.At(i, j));
        for (int64_t i = above; i < m; ++i) out[i] = static_cast<T>(qr.vectors[j][i]);
      }
    });
    StoreRows({tau, steps}, 1, steps, args.input.dtype, args.tau, matrix * steps);
  });
}

void HouseholderKernel(const HouseholderArgs& args) {
  const int64_t m = args.m, count = args.num_reflections;
  ForMatrices(args.batch, 2 * m * count * args.num_rows, [&](int64_t matrix) {
    Scratch scratch;
    const Rows vectors = NewRows(scratch, count, m);
    LoadRows(args.factors, matrix, count, m, vectors);
    double* const tau = scratch.Get<double>(count);
    LoadRows(args.tau, matrix, 1, count, {tau, count});
    ReflectRows(args, vectors, tau, matrix);
  });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

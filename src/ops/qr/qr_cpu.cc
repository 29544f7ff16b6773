// SPDX-License-Identifier: MIT
#include "drivers/reflections_cpu-inl.h"
#include "ops/qr/qr_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

void GeqrfKernel(const GeqrfArgs& args) {
  const int64_t m = args.m, n = args.n, steps = std::min(m, n);
  ForMatrices(args.batch, 2 * m * n * steps, [&](int64_t matrix) {
    Scratch scratch;
    const int64_t num_blocks = (n + kWidth - 1) / kWidth;
    double* const tau = scratch.Get<double>(steps);
    const Qr qr{
        m, n, scratch.Get<double>(num_blocks * m * kWidth), NewRows(scratch, steps, m), tau, args.order + matrix * n,
        0};
    for (int64_t j = 0; j < n; ++j) qr.order[j] = j;
    for (int64_t block = 0; block < num_blocks; ++block) {
      const int64_t cols = std::min(kWidth, n - block * kWidth);
      Matrices part = args.input;
      DispatchReal(part.dtype,
                   [&]<class T>() { part.data = static_cast<const T*>(part.data) + block * kWidth * part.col_stride; });
      LoadRows(part, matrix, m, cols, {qr.At(block).data, kWidth});
      for (int64_t i = 0; i < m; ++i) std::fill(qr.At(block)[i] + cols, qr.At(block)[i] + kWidth, 0.0);
    }
    qr.Run(args.pivot);
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
  const int64_t m = args.m, count = args.num_reflections, num_rows = args.num_rows;
  ForMatrices(args.batch, 2 * m * count * num_rows, [&](int64_t matrix) {
    Scratch scratch;
    const Rows vectors = NewRows(scratch, count, m);
    LoadRows(args.factors, matrix, count, m, vectors);
    double* const tau = scratch.Get<double>(count);
    LoadRows(args.tau, matrix, 1, count, {tau, count});
    const int64_t num_blocks = (num_rows + kWidth - 1) / kWidth;
    const int64_t grain = 50000 / (m * kWidth * count + 1) + 1;
    ParallelRanges(num_blocks, grain, [&](int64_t begin, int64_t end) {
      Scratch own;
      const Block x{own.Get<double>(m * kWidth)};
      for (int64_t block = begin; block < end; ++block) {
        const int64_t width = std::min(kWidth, num_rows - block * kWidth);
        Matrices part = args.rows;
        DispatchReal(part.dtype, [&]<class T>() {
          part.data = static_cast<const T*>(part.data) + block * kWidth * part.row_stride;
        });
        LoadRows(part.Transposed(), matrix, m, width, {x.data, kWidth});
        for (int64_t i = 0; i < m; ++i) std::fill(x[i] + width, x[i] + kWidth, 0.0);
        Reflect(vectors, tau, args.adjoint ? 0 : count - 1, args.adjoint ? 1 : -1, count, m, x);
        StoreColumns({x.data, kWidth}, m, width, args.rows.dtype, args.output,
                     (matrix * num_rows + block * kWidth) * m);
      }
    });
  });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

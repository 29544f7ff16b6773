// SPDX-License-Identifier: MIT
#include "drivers/reflections_cpu-inl.h"
#include "ops/qr/qr_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

/// The rows of one matrix, or those of the identity, to the output.
template <class Matrix>
void ReflectRows(const HouseholderArgs& args, const Matrix& vectors, const RowOf<Matrix>& tau, int64_t matrix) {
  constexpr int64_t kRows = kVectorsOf<Matrix>;
  const int64_t m = args.m, count = args.num_reflections, num_rows = args.num_rows;
  const int64_t num_blocks = (num_rows + kRows - 1) / kRows;
  const int64_t grain = 50000 / (m * kWidth * count + 1) + 1;
  ParallelRanges(num_blocks, grain, [&](int64_t begin, int64_t end) {
    Scratch own;
    const Block x{own.Get<double>(m * kWidth)};
    for (int64_t block = begin; block < end; ++block) {
      const int64_t first = block * kRows, width = std::min(kRows, num_rows - first);
      if (args.rows.data == nullptr || width < kRows) std::fill_n(x.data, m * kWidth, 0.0);
      if (args.rows.data == nullptr) {
        for (int64_t j = 0; j < width; ++j) x[first + j][j] = 1.0;
      } else {
        Matrices part = args.rows;
        DispatchReal(part.dtype,
                     [&]<class T>() { part.data = static_cast<const T*>(part.data) + first * part.row_stride; });
        LoadRows(part.Transposed(), matrix, m, width, AsMatrix<Matrix>(x));
      }
      Reflect(vectors, tau, args.adjoint, args.adjoint ? 0 : count - 1, count, m, x);
      StoreColumns(AsMatrix<Matrix>(x), m, width, args.rows.dtype, args.output, (matrix * num_rows + first) * m);
    }
  });
}

/// Row j: column j of a matrix, down to its diagonal, and behind it `below`(j, i) in `count` numbers.
template <class Qr, class Below>
void StoreFactors(const Qr& qr, int64_t count, DType dtype, void* to, int64_t matrix, const Below& below) {
  constexpr int kParts = Qr::kParts;
  DispatchReal(dtype, [&]<class T>() {
    T* out = static_cast<T*>(to) + matrix * qr.n * count * kParts;
    for (int64_t j = 0; j < qr.n; ++j) {
      for (int64_t i = 0; i < count; ++i) {
        const auto x = i <= j ? qr.At(i, j) : below(j, i);
        if constexpr (kParts == 1) *out++ = static_cast<T>(x);
        if constexpr (kParts == 2) *out++ = static_cast<T>(x.re), *out++ = static_cast<T>(x.im);
      }
    }
  });
}

template <class Matrix>
void RunGeqrf(const GeqrfArgs& args) {
  using Qr = QrOf<Matrix>;
  const int64_t m = args.m, n = args.n, steps = std::min(m, n);
  const DType dtype = args.input.dtype;
  ForMatrices(args.batch, 2 * m * n * steps, [&](int64_t matrix) {
    Scratch scratch;
    const Matrix tau = NewRowsOf<Matrix>(scratch, 1, steps);
    int64_t* const order = args.order == nullptr ? scratch.Get<int64_t>(n) : args.order + matrix * n;
    Qr qr{m, n, nullptr, NewRowsOf<Matrix>(scratch, steps, m), tau[0], order, 0};
    qr.data = scratch.Get<double>(qr.num_blocks() * m * kWidth);
    for (int64_t j = 0; j < n; ++j) qr.order[j] = j;
    qr.Load(args.input, matrix);
    const bool is_double = dtype == DType::kFloat64;  // which float numbers do not get out of
    is_double ? qr.RunScaled(args.pivot) : qr.Run(args.pivot);
    if (args.factors != nullptr) {
      StoreFactors(qr, m, dtype, args.factors, matrix, [&](int64_t j, int64_t i) { return qr.vectors[j][i]; });
      return StoreRows(tau, 1, steps, dtype, args.tau, matrix * steps);
    }
    StoreFactors(qr, args.num_columns, dtype, args.r, matrix, [](int64_t, int64_t) { return typename Qr::Number{}; });
    HouseholderArgs of_q{};
    of_q.m = m, of_q.num_reflections = steps, of_q.num_rows = args.num_columns;
    of_q.rows.dtype = dtype;
    of_q.output = args.q;
    ReflectRows(of_q, qr.vectors, qr.tau, matrix);
  });
}

template <class Matrix>
void RunHouseholder(const HouseholderArgs& args) {
  const int64_t m = args.m, count = args.num_reflections;
  ForMatrices(args.batch, 2 * m * count * args.num_rows, [&](int64_t matrix) {
    Scratch scratch;
    const Matrix vectors = NewRowsOf<Matrix>(scratch, count, m), tau = NewRowsOf<Matrix>(scratch, 1, count);
    LoadRows(args.factors, matrix, count, m, vectors);
    LoadRows(args.tau, matrix, 1, count, tau);
    ReflectRows(args, vectors, tau[0], matrix);
  });
}

}  // namespace

void GeqrfKernel(const GeqrfArgs& args) { args.pairs ? RunGeqrf<PairRows>(args) : RunGeqrf<Rows>(args); }

void HouseholderKernel(const HouseholderArgs& args) {
  args.pairs ? RunHouseholder<PairRows>(args) : RunHouseholder<Rows>(args);
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

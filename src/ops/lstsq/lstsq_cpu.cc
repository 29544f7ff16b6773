// SPDX-License-Identifier: MIT
#include <cmath>

#include "drivers/reflections_cpu-inl.h"
#include "ops/lstsq/lstsq_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

template <class Matrix>
QrOf<Matrix> NewQr(Scratch& scratch, int64_t m, int64_t n) {
  const int64_t steps = std::min(m, n);
  const Matrix tau = NewRowsOf<Matrix>(scratch, 1, steps);
  QrOf<Matrix> qr{m, n, nullptr, NewRowsOf<Matrix>(scratch, steps, m), tau[0], scratch.Get<int64_t>(n), 0};
  qr.data = scratch.Get<double>(qr.num_blocks() * m * kWidth);
  for (int64_t j = 0; j < n; ++j) qr.order[j] = j;
  return qr;
}

/// X of A X = B into `count` columns of x, which hold B, for the triangle A with these columns.
template <class Matrix>
void SolveSides(const Matrix& columns, int64_t n, bool upper, const Matrix& x, int64_t count) {
  using Triangle = TriangleOf<RowOf<Matrix>>;
  if (count > kFewSides) {
    if (upper) {
      Substitute(Triangle::Upper(columns[0], 1, columns.stride, n, false), 0, n, Reversed(x, n), count);
    } else {
      Substitute(Triangle{columns[0], 1, columns.stride, false}, 0, n, x, count);
    }
    return;
  }
  Scratch scratch;
  const Matrix sides = NewRowsOf<Matrix>(scratch, count, n);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t side = 0; side < count; ++side) PutNumber(sides[side], i, x[i][side]);
  }
  SubstituteEach(columns, n, upper, false, sides, count);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t side = 0; side < count; ++side) PutNumber(x[i], side, sides[side][i]);
  }
}

/// What is known of one matrix, and the solutions for its right sides.
template <class Matrix>
class LeastSquares {
  using Qr = QrOf<Matrix>;
  using Number = NumberOf<Matrix>;

 public:
  LeastSquares(const LstsqArgs& args, int64_t matrix, Scratch& scratch)
      : args_(args),
        matrix_(matrix),
        has_qr_(args.pivot || args.m >= args.n),
        qr_(NewQr<Matrix>(scratch, args.m, args.n)) {
    qr_.Load(args.input, matrix);
    if (has_qr_) qr_.RunScaled(args.pivot);
    rank_ = args.pivot ? RankOfQr() : std::min(args.m, args.n);
    triangle_ = NewRowsOf<Matrix>(scratch, rank_, rank_);
    if (IsFull()) {
      for (int64_t j = 0; j < rank_; ++j) {
        for (int64_t i = 0; i <= j; ++i) PutNumber(triangle_[j], i, qr_.At(i, j));
      }
    } else if (rank_ > 0) {
      FactorAcross(scratch);
    }
  }

  int64_t rank() const { return rank_; }

  void Solve() const {
    constexpr int64_t kSides = kVectorsOf<Matrix>;
    const int64_t num_blocks = (args_.num_rows + kSides - 1) / kSides;
    const int64_t grain = 50000 / (args_.m * kWidth * args_.n + 1) + 1;
    ParallelRanges(num_blocks, grain, [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) {
        SolveBlock(block * kSides, std::min(kSides, args_.num_rows - block * kSides));
      }
    });
  }

 private:
  bool IsFull() const { return rank_ == args_.n; }

  int64_t RankOfQr() const {
    const auto size = [&](int64_t k) { return std::abs(qr_.Part(k, k, 0)); };
    const double least = size(0) * args_.rcond;
    int64_t rank = 0;
    while (rank < std::min(args_.m, args_.n) && size(rank) > least) ++rank;
    return rank;
  }

  /// QR of the conjugate transpose of the first rows of R or, without it, of A; and of its R, again.
  void FactorAcross(Scratch& scratch) {
    across_ = NewQr<Matrix>(scratch, args_.n, rank_);
    std::fill_n(across_.data, across_.num_blocks() * args_.n * kWidth, 0.0);
    for (int64_t j = 0; j < rank_; ++j) {
      for (int64_t i = 0; i < args_.n; ++i) {
        across_.Put(i, j, Conjugate(has_qr_ && i < j ? Number{} : qr_.At(j, i)));
      }
    }
    across_.RunScaled(false);
    for (int64_t j = 0; j < rank_; ++j) {
      for (int64_t i = j; i < rank_; ++i) PutNumber(triangle_[j], i, Conjugate(across_.At(j, i)));
    }
  }

  void SolveBlock(int64_t first, int64_t count) const {
    const int64_t m = args_.m, n = args_.n, longest = std::max(m, n);
    Scratch scratch;
    const Block x{scratch.Get<double>(longest * kWidth)}, in_order{scratch.Get<double>(n * kWidth)};
    std::fill_n(x.data, longest * kWidth, 0.0);
    Matrices part = args_.rows;
    DispatchReal(part.dtype,
                 [&]<class T>() { part.data = static_cast<const T*>(part.data) + first * part.row_stride; });
    LoadRows(part.Transposed(), matrix_, m, count, AsMatrix<Matrix>(x));
    if (has_qr_) Reflect(qr_.vectors, qr_.tau, true, 0, std::min(m, n), m, x);
    if (rank_ > 0) SolveSides(triangle_, rank_, IsFull(), AsMatrix<Matrix>(x), count);
    std::fill(x[rank_], x[n], 0.0);
    if (!IsFull()) Reflect(across_.vectors, across_.tau, false, rank_ - 1, rank_, n, x);
    for (int64_t j = 0; j < n; ++j) std::copy_n(x[j], kWidth, in_order[qr_.order[j]]);
    StoreColumns(AsMatrix<Matrix>(in_order), n, count, args_.input.dtype, args_.output,
                 (matrix_ * args_.num_rows + first) * n);
  }

  const LstsqArgs& args_;
  int64_t matrix_;
  bool has_qr_;
  Qr qr_;
  int64_t rank_;
  Matrix triangle_;  // its columns
  Qr across_{};
};

template <class Matrix>
void Run(const LstsqArgs& args) {
  const int64_t work = 2 * args.m * args.n * (std::min(args.m, args.n) + args.num_rows);
  ForMatrices(args.batch, work, [&](int64_t matrix) {
    Scratch scratch;
    const LeastSquares<Matrix> found(args, matrix, scratch);
    args.ranks[matrix] = found.rank();
    found.Solve();
  });
}

}  // namespace

void LstsqKernel(const LstsqArgs& args) { args.pairs ? Run<PairRows>(args) : Run<Rows>(args); }

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

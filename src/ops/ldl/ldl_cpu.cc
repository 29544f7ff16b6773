// SPDX-License-Identifier: MIT
#include "drivers/pair_matrix_cpu-inl.h"
#include "ops/ldl/ldl_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

#include "ops/ldl/ldl.lane.h"

/// Sees sizes one after the other.
struct LargestSize {
  double size = 0;
  int64_t place = -1;

  void See(double other, int64_t at) {
    if (place < 0 || IsLarger(other, size)) size = other, place = at;
  }
};

template <class Matrix>
struct Ldl {
  using Row = decltype(Matrix()[0]);
  using Number = std::decay_t<decltype(std::declval<Row>()[0])>;

  int64_t n;
  Matrix u;  // row j is column j of the lower triangle
  bool hermitian;

  Number Turned(const Number& x) const { return hermitian ? Conjugate(x) : x; }

  /// The diagonal of a Hermitian matrix is real.
  void MakeReal(int64_t j) const {
    if constexpr (std::is_same_v<Number, Complex>) {
      if (hermitian) u[j].im[j] = 0;
    }
  }

  /// Row y over number k of the diagonal, in [begin, end).
  void Divide(int64_t k, const Row& y, int64_t begin, int64_t end) const {
    if constexpr (std::is_same_v<Number, Complex>) {
      if (hermitian) {
        DivideRow(u[k].re[k], y.re, begin, end);
        DivideRow(u[k].re[k], y.im, begin, end);
        return;
      }
    }
    DivideRow(u[k][k], y, begin, end);
  }

  void Exchange(int64_t q, int64_t p) const {
    SwapRows(u[q] + (p + 1), u[p] + (p + 1), n - p - 1);
    for (int64_t j = q + 1; j < p; ++j) {
      const Number x = Turned(u[q][j]);
      PutNumber(u[q], j, Turned(u[j][p]));
      PutNumber(u[j], p, x);
    }
    PutNumber(u[q], p, Turned(u[q][p]));
    const Number x = u[q][q];
    PutNumber(u[q], q, u[p][p]);
    PutNumber(u[p], p, x);
  }

  /// Takes number j of x times the row l from row j of the rest.
  void Subtract(const Row& x, int64_t j, const Row& l) const { SubtractRow(Turned(x[j]), l, u[j], j, n); }

  void TakeOne(int64_t k, const Row& l) const {
    for (int64_t i = k + 1; i < n; ++i) PutNumber(l, i, u[k][i]);
    Divide(k, l, k + 1, n);
    for (int64_t j = k + 1; j < n; ++j) {
      Subtract(u[k], j, l);
      MakeReal(j);
    }
    for (int64_t i = k + 1; i < n; ++i) PutNumber(u[k], i, l[i]);
  }

  void SolveBlock(int64_t k, const Row& l, const Row& m) const {
    const auto solve = [&](const auto& block) {
      for (int64_t i = k + 2; i < n; ++i) {
        const Number x = u[k][i], y = u[k + 1][i];
        PutNumber(l, i, block.FirstOf(x, y));
        PutNumber(m, i, block.SecondOf(x, y));
      }
    };
    const Number first = u[k][k], b = u[k][k + 1], second = u[k + 1][k + 1];
    if constexpr (std::is_same_v<Number, Complex>) {
      if (hermitian) return solve(HermitianBlockOfTwo(first, b, second));
    }
    solve(BlockOfTwo<Number>(first, b, second));
  }

  void TakeTwo(int64_t k, const Row& l, const Row& m) const {
    SolveBlock(k, l, m);
    for (int64_t j = k + 2; j < n; ++j) {
      Subtract(u[k], j, l);
      Subtract(u[k + 1], j, m);
      MakeReal(j);
    }
    for (int64_t i = k + 2; i < n; ++i) {
      PutNumber(u[k], i, l[i]);
      PutNumber(u[k + 1], i, m[i]);
    }
  }

  void Factorize(const Row& l, const Row& m, int64_t* pivots, int64_t* info) const {
    *info = 0;
    for (int64_t j = 0; j < n; ++j) MakeReal(j);
    for (int64_t k = 0; k < n;) {
      const auto diagonal = [&](int64_t i) { return SizeOf(u[i][i]); };
      LargestSize below;
      for (int64_t i = k + 1; i < n; ++i) below.See(SizeOf(u[k][i]), i);
      if ((diagonal(k) == 0 && below.size == 0) || diagonal(k) != diagonal(k)) {
        if (*info == 0) *info = k + 1;
        pivots[k] = k + 1;
        ++k;
        continue;
      }
      const auto [p, two] = PivotOf(k, below.size, below.place, diagonal, [&](int64_t r) {
        LargestSize beside;
        for (int64_t j = k; j < r; ++j) beside.See(SizeOf(u[j][r]), j);
        for (int64_t i = r + 1; i < n; ++i) beside.See(SizeOf(u[r][i]), i);
        return beside.size;
      });
      const int64_t q = two ? k + 1 : k;
      if (p != q) {
        Exchange(q, p);
        if (two) {
          const Number x = u[k][q];
          PutNumber(u[k], q, u[k][p]);
          PutNumber(u[k], p, x);
        }
      }
      pivots[k] = two ? n + p + 1 : p + 1;
      if (two) {
        TakeTwo(k, l, m);
        pivots[k + 1] = 0;
      } else {
        TakeOne(k, l);
      }
      k = q + 1;
    }
  }

  static void Exchange(const Matrix& x, int64_t i, int64_t j, int64_t width) {
    if (i != j) SwapRows(x[i], x[j], width);
  }

  /// Changes the rows of x, an unknown in each, from right sides to solutions. `starts` has room for n places.
  void Solve(const int64_t* pivots, const Matrix& x, int64_t width, int64_t* starts) const {
    int64_t blocks = 0;
    for (int64_t k = 0; k < n;) {
      starts[blocks++] = k;
      const int64_t last = IsTwo(pivots[k], k, n) ? k + 1 : k;
      Exchange(x, last, PartnerOf(pivots[k], last, n), width);
      for (int64_t i = last + 1; i < n; ++i) {
        for (int64_t j = k; j <= last; ++j) SubtractRow(u[j][i], x[j], x[i], 0, width);
      }
      if (last == k) {
        Divide(k, x[k], 0, width);
      } else {
        SolveTwo(k, x, width);
      }
      k = last + 1;
    }
    while (blocks > 0) {
      const int64_t k = starts[--blocks], last = IsTwo(pivots[k], k, n) ? k + 1 : k;
      for (int64_t j = last; j >= k; --j) {
        for (int64_t i = last + 1; i < n; ++i) SubtractRow(Turned(u[j][i]), x[i], x[j], 0, width);
      }
      Exchange(x, last, PartnerOf(pivots[k], last, n), width);
    }
  }

  void SolveTwo(int64_t k, const Matrix& x, int64_t width) const {
    for (int64_t i = 0; i < width; ++i) {
      const Number c = u[k][k + 1];
      Number g = x[k][i], h = x[k + 1][i];
      SolveBlockOfTwo(u[k][k], c, Turned(c), u[k + 1][k + 1], g, h);
      PutNumber(x[k], i, g);
      PutNumber(x[k + 1], i, h);
    }
  }
};

template <class Matrix>
void Run(const LdlArgs& args) {
  const int64_t n = args.n, m = args.num_rows;
  if (args.info == nullptr) {
    ForMatrices(args.batch, n * n * m, [&](int64_t matrix) {
      Scratch scratch;
      const Ldl<Matrix> ldl{n, NewRowsOf<Matrix>(scratch, n, n), args.hermitian};
      const Matrix x = NewRowsOf<Matrix>(scratch, n, m);
      LoadRows(args.input, matrix, n, n, ldl.u);
      LoadRows(args.rows.Transposed(), matrix, n, m, x);
      ldl.Solve(args.pivots + matrix * n, x, m, scratch.Get<int64_t>(n));
      StoreColumns(x, n, m, args.rows.dtype, args.output, matrix * n * m);
    });
    return;
  }
  ForMatrices(args.batch, n * n * n / 6, [&](int64_t matrix) {
    Scratch scratch;
    const Ldl<Matrix> ldl{n, NewRowsOf<Matrix>(scratch, n, n), args.hermitian};
    const Matrix columns = NewRowsOf<Matrix>(scratch, 2, n);
    LoadRows(args.input.Transposed(), matrix, n, n, ldl.u);
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t i = 0; i < j; ++i) PutNumber(ldl.u[j], i, {});
    }
    ldl.Factorize(columns[0], columns[1], args.pivots + matrix * n, args.info + matrix);
    StoreRows(ldl.u, n, n, args.input.dtype, args.output, matrix * n * n);
  });
}

}  // namespace

void LdlKernel(const LdlArgs& args) { args.pairs ? Run<PairRows>(args) : Run<Rows>(args); }

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

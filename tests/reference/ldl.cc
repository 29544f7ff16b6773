// SPDX-License-Identifier: MIT
// L D Lᵀ of symmetric matrices and of Hermitian ones, and systems of equations, element by element in double.
#include <algorithm>
#include <cmath>
#include <utility>

#include "complex_matrices.h"
#include "functions.h"

namespace repdl::reference {
namespace {

/// The steps of a kind of numbers.
struct OfReals {
  using Number = double;
  using Matrix = Square;
  static double Size(double x) { return std::fabs(x); }
  static double Conjugate(double x) { return x; }
  static double Minus(double x, double y) { return x - y; }
  static double Times(double x, double y) { return x * y; }
  static double Over(double x, double y) { return x / y; }
  static double Less(double a, double x, double y) { return std::fma(-x, y, a); }
};

struct OfPairs {
  using Number = Complex;
  using Matrix = Grid;
  static double Size(Complex x) { return reference::Size(x); }
  static Complex Conjugate(Complex x) { return reference::Conjugate(x); }
  static Complex Minus(Complex x, Complex y) { return reference::Minus(x, y); }
  static Complex Times(Complex x, Complex y) { return reference::Times(x, y); }
  static Complex Over(Complex x, Complex y) { return reference::Over(x, y); }
  static Complex Less(Complex a, Complex x, Complex y) { return reference::Less(a, x, y); }
};

double Real(double x) { return x; }
double Real(Complex x) { return x.re; }
double WithReal(double, double real) { return real; }
Complex WithReal(Complex, double real) { return {real, 0}; }
double Scaled(double x, double by) { return x * by; }
Complex Scaled(Complex x, double by) { return {x.re * by, x.im * by}; }
double Divided(double x, double by) { return x / by; }
Complex Divided(Complex x, double by) { return {x.re / by, x.im / by}; }
Complex Unit(Complex) { return {1, 0}; }
double Unit(double) { return 1; }
double Hypot(double x) { return std::fabs(x); }
double Hypot(Complex x) { return Rounded<double>(*FindFunction("hypot"), x.re, x.im, kFloat64); }

/// The first of the largest sizes; a NaN is larger than any.
struct Peak {
  double size = 0;
  int64_t place = -1;
  void Try(double other, int64_t at) {
    if (place >= 0 && !(other > size) && !(std::isnan(other) && !std::isnan(size))) return;
    size = other;
    place = at;
  }
};

template <class Of>
struct Factors {
  using Number = typename Of::Number;
  typename Of::Matrix a;
  bool hermitian;
  Indices pivots;
  int64_t info = 0;

  Number Turned(Number x) const { return hermitian ? Of::Conjugate(x) : x; }

  void RealDiagonal() {
    for (int64_t j = 0; hermitian && j < a.rows; ++j) a(j, j) = WithReal(a(j, j), Real(a(j, j)));
  }

  /// Element (i, j) of the whole matrix, from the lower triangle.
  Number At(int64_t i, int64_t j) { return i >= j ? a(i, j) : Turned(a(j, i)); }

  void Exchange(int64_t q, int64_t p, int64_t first) {
    const int64_t n = a.rows;
    typename Of::Matrix old = a;
    const auto source = [&](int64_t i) { return i == q ? p : i == p ? q : i; };
    const auto of_old = [&](int64_t i, int64_t j) { return i >= j ? old(i, j) : Turned(old(j, i)); };
    for (int64_t j = first; j < n; ++j) {
      for (int64_t i = j; i < n; ++i) a(i, j) = of_old(source(i), source(j));
    }
  }

  void Run() {
    const int64_t n = a.rows;
    const double bound = 0x1.47e0f66afed07p-1;
    RealDiagonal();
    pivots.assign(n, 0);
    for (int64_t k = 0; k < n;) {
      const double size = Of::Size(a(k, k));
      Peak below, beside;
      for (int64_t i = k + 1; i < n; ++i) below.Try(Of::Size(a(i, k)), i);
      pivots[k] = k + 1;
      if (std::isnan(size) || (size == 0 && below.size == 0)) {
        if (info == 0) info = k + 1;
        ++k;
        continue;
      }
      const double limit = bound * below.size;
      int64_t p = k, width = 1;
      if (!(size >= limit)) {
        const int64_t r = below.place;
        for (int64_t j = k; j < n; ++j) {
          if (j != r) beside.Try(Of::Size(At(r, j)), j);
        }
        if (!(size >= limit * (below.size / beside.size))) {
          p = r;
          if (!(Of::Size(a(r, r)) >= bound * beside.size)) width = 2;
        }
      }
      const int64_t q = k + width - 1;
      if (p != q) Exchange(q, p, k);
      pivots[k] = width == 1 ? p + 1 : n + p + 1;
      width == 1 ? One(k) : Two(k);
      k += width;
    }
  }

  void One(int64_t k) {
    const int64_t n = a.rows;
    std::vector<Number> l(n);
    for (int64_t i = k + 1; i < n; ++i) {
      l[i] = hermitian ? Divided(a(i, k), Real(a(k, k))) : Of::Over(a(i, k), a(k, k));
    }
    for (int64_t j = k + 1; j < n; ++j) {
      for (int64_t i = j; i < n; ++i) a(i, j) = Of::Less(a(i, j), Turned(a(j, k)), l[i]);
    }
    for (int64_t i = k + 1; i < n; ++i) a(i, k) = l[i];
    RealDiagonal();
  }

  void Two(int64_t k) {
    const int64_t n = a.rows;
    std::vector<Number> u(n), v(n);
    const Number b = a(k + 1, k), one = Unit(b);
    for (int64_t i = k + 2; i < n; ++i) {
      const Number x = a(i, k), y = a(i, k + 1);
      if (hermitian) {
        const double d = Hypot(b), e = Real(a(k + 1, k + 1)) / d, f = Real(a(k, k)) / d, ef = e * f;
        const double t = 1 / (ef - 1) / d;
        const Number g = Divided(b, d);
        u[i] = Scaled(Of::Minus(Scaled(x, e), Of::Times(g, y)), t);
        v[i] = Scaled(Of::Minus(Scaled(y, f), Of::Times(Of::Conjugate(g), x)), t);
      } else {
        const Number e = Of::Over(a(k + 1, k + 1), b), f = Of::Over(a(k, k), b);
        const Number t = Of::Over(Of::Over(one, Of::Minus(Of::Times(e, f), one)), b);
        u[i] = Of::Times(Of::Minus(Of::Times(e, x), y), t);
        v[i] = Of::Times(Of::Minus(Of::Times(f, y), x), t);
      }
    }
    for (int64_t j = k + 2; j < n; ++j) {
      for (int64_t i = j; i < n; ++i) {
        a(i, j) = Of::Less(Of::Less(a(i, j), Turned(a(j, k)), u[i]), Turned(a(j, k + 1)), v[i]);
      }
    }
    for (int64_t i = k + 2; i < n; ++i) a(i, k) = u[i], a(i, k + 1) = v[i];
    RealDiagonal();
  }

  /// Changes b into x; a holds the factors as they were returned, transposed, so that a(i, k) is l_ik.
  void Solve(std::vector<Number>& b) {
    const int64_t n = a.rows;
    struct Block {
      int64_t first, last, partner;
    };
    std::vector<Block> blocks;
    for (int64_t k = 0; k < n; k = blocks.back().last + 1) {
      const int64_t p = pivots[k], last = p > n && k + 1 < n ? k + 1 : k;
      blocks.push_back({k, last, p == 0 ? last : (p > n ? p - n : p) - 1});
    }
    for (const auto [k, last, partner] : blocks) {
      std::swap(b[last], b[partner]);
      for (int64_t i = last + 1; i < n; ++i) {
        for (int64_t j = k; j <= last; ++j) b[i] = Of::Less(b[i], a(i, j), b[j]);
      }
      if (last == k) {
        b[k] = hermitian ? Divided(b[k], Real(a(k, k))) : Of::Over(b[k], a(k, k));
        continue;
      }
      const Number c = a(last, k), one = Unit(c);
      const Number f = Of::Over(a(k, k), Turned(c)), e = Of::Over(a(last, last), c);
      const Number determinant = Of::Minus(Of::Times(f, e), one);
      const Number g = Of::Over(b[k], Turned(c)), h = Of::Over(b[last], c);
      b[k] = Of::Over(Of::Minus(Of::Times(e, g), h), determinant);
      b[last] = Of::Over(Of::Minus(Of::Times(f, h), g), determinant);
    }
    for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
      for (int64_t j = block->last; j >= block->first; --j) {
        for (int64_t i = block->last + 1; i < n; ++i) b[j] = Of::Less(b[j], Turned(a(i, j)), b[i]);
      }
      std::swap(b[block->last], b[block->partner]);
    }
  }
};

template <class T>
std::vector<Square> Read(const Arguments& args, std::string_view name, OfReals) {
  return MatricesOf<T>(args, name);
}
template <class T>
std::vector<Grid> Read(const Arguments& args, std::string_view name, OfPairs) {
  return GridsOf<T>(args, name);
}
template <class T>
void Write(Results& results, const std::vector<Square>& matrices, const IntList& shape) {
  Append<T>(results, matrices, shape);
}
template <class T>
void Write(Results& results, const std::vector<Grid>& matrices, const IntList& shape) {
  AppendGrids<T>(results, matrices, shape);
}

template <class T, class Of>
Results Factorize(const Case& test_case) {
  const Arguments args(test_case);
  auto matrices = Read<T>(args, "input", Of());
  Indices pivots, infos;
  for (auto& matrix : matrices) {
    Factors<Of> factors{matrix, std::is_same_v<Of, OfPairs> && args.Flag("hermitian"), {}};
    factors.Run();
    for (int64_t i = 0; i < matrix.rows; ++i) {
      for (int64_t j = i + 1; j < matrix.rows; ++j) factors.a(i, j) = {};
    }
    matrix = factors.a.Transposed();
    pivots.insert(pivots.end(), factors.pivots.begin(), factors.pivots.end());
    infos.push_back(factors.info);
  }
  Results results;
  Write<T>(results, matrices, args.OutputShape(0));
  Append(results, pivots, args.OutputShape(1));
  Append(results, infos, args.OutputShape(2));
  return results;
}

template <class T, class Of>
Results SolveRows(const Case& test_case) {
  const Arguments args(test_case);
  auto matrices = Read<T>(args, "factors", Of());
  auto rows = Read<T>(args, "rows", Of());
  const Indices pivots = args.IndicesOf("pivots");
  for (size_t at = 0; at < rows.size(); ++at) {
    const int64_t n = rows[at].columns;
    Factors<Of> factors{matrices[at].Transposed(), std::is_same_v<Of, OfPairs> && args.Flag("hermitian"), {}};
    factors.pivots.assign(pivots.begin() + at * n, pivots.begin() + (at + 1) * n);
    for (int64_t r = 0; r < rows[at].rows; ++r) {
      const auto first = rows[at].at.begin() + r * n;
      std::vector<typename Of::Number> b(first, first + n);
      factors.Solve(b);
      std::copy(b.begin(), b.end(), first);
    }
  }
  Results results;
  Write<T>(results, rows, args.Shape("rows"));
  return results;
}

template <class T>
Results RunLdl(const Case& test_case) {
  return Factorize<T, OfReals>(test_case);
}
template <class T>
Results RunComplexLdl(const Case& test_case) {
  return Factorize<T, OfPairs>(test_case);
}
template <class T>
Results RunLdlSolve(const Case& test_case) {
  return SolveRows<T, OfReals>(test_case);
}
template <class T>
Results RunComplexLdlSolve(const Case& test_case) {
  return SolveRows<T, OfPairs>(test_case);
}

const Op kOps[] = {{"complex_ldl", REPDL_EITHER(RunComplexLdl)},
                   {"complex_ldl_solve", REPDL_EITHER(RunComplexLdlSolve)},
                   {"ldl", REPDL_EITHER(RunLdl)},
                   {"ldl_solve", REPDL_EITHER(RunLdlSolve)}};

}  // namespace
}  // namespace repdl::reference

// SPDX-License-Identifier: MIT
// Eigenvalues and eigenvectors of general matrices, by Francis' double shifts, number by number in double.
#include "eigen.h"

namespace repdl::reference {
namespace {

/// A reflection of neighbouring places, or a rotation of two.
struct Turn {
  int64_t place;
  Doubles v;
  double tau, c = 1, s = 0;
  double result = 0;
};

Turn ReflectionOf(const Doubles& x, int64_t place) {
  const double below = SquaresFrom(x, 1), head = x[0];
  Turn turn{place, x, 0};
  turn.v[0] = 1;
  turn.result = head;
  if (below <= 0x1p-800) return turn;
  const double size = std::sqrt(std::fma(head, head, below));
  turn.result = head < 0 ? size : -size;
  turn.tau = (turn.result - head) / turn.result;
  for (size_t i = 1; i < x.size(); ++i) turn.v[i] = x[i] / (head - turn.result);
  return turn;
}

/// The numbers that the turn changes, in their places.
Doubles Turned(const Turn& turn, Doubles x) {
  if (turn.v.empty()) {
    const double sv = turn.s * x[1], su = turn.s * x[0];
    return {std::fma(turn.c, x[0], sv), std::fma(turn.c, x[1], -su)};
  }
  if (turn.tau != 0) Reflect(turn.v, turn.tau, 0, x);
  return x;
}

int64_t CountOf(const Turn& turn) { return turn.v.empty() ? 2 : static_cast<int64_t>(turn.v.size()); }

void TurnRows(const Turn& turn, Square& a, int64_t first_column) {
  for (int64_t j = first_column; j < a.columns; ++j) {
    Doubles x;
    for (int64_t i = 0; i < CountOf(turn); ++i) x.push_back(a(turn.place + i, j));
    x = Turned(turn, x);
    for (int64_t i = 0; i < CountOf(turn); ++i) a(turn.place + i, j) = x[i];
  }
}

void TurnColumns(const Turn& turn, Square& a, int64_t last_row) {
  for (int64_t i = 0; i <= last_row; ++i) {
    Doubles x;
    for (int64_t j = 0; j < CountOf(turn); ++j) x.push_back(a(i, turn.place + j));
    x = Turned(turn, x);
    for (int64_t j = 0; j < CountOf(turn); ++j) a(i, turn.place + j) = x[j];
  }
}

struct Search {
  Square a;
  int64_t lo, hi;
  Pairs values;
  std::vector<Turn> turns;

  void ToHessenberg() {
    for (int64_t k = lo; k + 2 <= hi; ++k) {
      Doubles x;
      for (int64_t i = k + 1; i <= hi; ++i) x.push_back(a(i, k));
      const Turn turn = ReflectionOf(x, k + 1);
      for (int64_t i = k + 1; i <= hi; ++i) a(i, k) = i == k + 1 ? turn.result : 0;
      turns.push_back(turn);
      if (turn.tau == 0) continue;
      TurnRows(turn, a, k + 1);
      for (int64_t i = 0; i <= hi; ++i) {
        double lane[16] = {};
        for (int64_t j = 0; j < hi - k; ++j) lane[j % 16] = std::fma(a(i, k + 1 + j), turn.v[j], lane[j % 16]);
        for (int h = 8; h >= 1; h /= 2) {
          for (int j = 0; j < h; ++j) lane[j] = lane[j] + lane[j + h];
        }
        const double q = turn.tau * lane[0];
        for (int64_t j = 0; j < hi - k; ++j) a(i, k + 1 + j) = std::fma(-q, turn.v[j], a(i, k + 1 + j));
      }
    }
  }

  bool Run() {
    for (int64_t i = 0; i < a.rows; ++i) values.push_back({a(i, i), 0});
    int64_t m = hi, sweeps = 0, since = 0;
    while (m >= lo) {
      int64_t l = m;
      while (l > lo && !IsNegligible(l)) --l;
      if (l > lo) a(l, l - 1) = 0;
      if (l == m) {
        values[m] = {a(m, m), 0};
        --m;
        since = 0;
      } else if (l == m - 1) {
        SplitTwo(l);
        m -= 2;
        since = 0;
      } else {
        if (sweeps++ == 40 * a.rows) return false;
        Sweep(l, m, ++since);
      }
    }
    return true;
  }

  bool IsNegligible(int64_t l) {
    const double size = std::fabs(a(l, l - 1)), around = std::fabs(a(l - 1, l - 1)) + std::fabs(a(l, l));
    return size <= 0x1p-400 || size <= 0x1p-53 * around;
  }

  void Sweep(int64_t l, int64_t m, int64_t number) {
    double x = a(m, m), y = a(m - 1, m - 1), w = a(m, m - 1) * a(m - 1, m);
    if (number % 10 == 0) {
      const double s = std::fabs(a(m, m - 1)) + std::fabs(a(m - 1, m - 2)), more = 0.75 * s;
      x = y = a(m, m) + more;
      w = -0.4375 * (s * s);
    }
    int64_t k = m - 2;
    Doubles first(3);
    while (true) {
      const double z = a(k, k), f = x - z, g = y - z, fg = f * g;
      first = {(fg - w) / a(k + 1, k) + a(k, k + 1), ((a(k + 1, k + 1) - z) - f) - g, a(k + 2, k + 1)};
      const double size = (std::fabs(first[0]) + std::fabs(first[1])) + std::fabs(first[2]);
      for (double& number_of : first) number_of = number_of / size;
      if (k == l) break;
      const double off = std::fabs(a(k, k - 1)) * (std::fabs(first[1]) + std::fabs(first[2]));
      const double around = (std::fabs(a(k - 1, k - 1)) + std::fabs(z)) + std::fabs(a(k + 1, k + 1));
      if (off <= 0x1p-53 * (std::fabs(first[0]) * around)) break;
      --k;
    }
    for (int64_t j = k; j < m; ++j) {
      if (j > k) {
        first = {a(j, j - 1), a(j + 1, j - 1)};
        if (j + 2 <= m) first.push_back(a(j + 2, j - 1));
      }
      const Turn turn = ReflectionOf(first, j);
      for (int64_t i = 0; j > k && i < CountOf(turn); ++i) a(j + i, j - 1) = i == 0 ? turn.result : 0;
      if (j == k && k > l) a(k, k - 1) = a(k, k - 1) * (1 - turn.tau);
      TurnRows(turn, a, j);
      TurnColumns(turn, a, std::min(j + 3, m));
      turns.push_back(turn);
    }
  }

  void SplitTwo(int64_t l) {
    const double upper = a(l, l), b = a(l, l + 1), c = a(l + 1, l), d = a(l + 1, l + 1);
    const double p = 0.5 * (upper - d), w = b * c, pp = p * p, q = pp + w, root = std::sqrt(std::fabs(q));
    if (q < 0) {
      values[l] = {d + p, root};
      values[l + 1] = {d + p, -root};
      return;
    }
    const double z = p < 0 ? p - root : p + root;
    Turn turn{l, {}, 0};
    if (std::fabs(c) >= 0x1p-400) {
      const double zz = z * z, cc = c * c, r = std::sqrt(zz + cc);
      turn.c = z / r;
      turn.s = c / r;
    }
    TurnRows(turn, a, l);
    TurnColumns(turn, a, l + 1);
    turns.push_back(turn);
    values[l] = {d + z, 0};
    values[l + 1] = {z == 0 ? d + z : d - w / z, 0};
    a(l + 1, l) = 0;
    a(l, l) = values[l].re;
    a(l + 1, l + 1) = values[l + 1].re;
  }
};

/// Of value k of the triangular form, the first of two.
Pairs VectorOf(Square& a, const Pairs& values, int64_t k) {
  const Complex h = values[k];
  const int64_t last = h.im > 0 ? k + 1 : k;
  Pairs x(last + 1);
  x[k] = {1, 0};
  if (h.im > 0) {
    const double b = a(k, last), c = a(last, k);
    if (std::fabs(c) < std::fabs(b)) {
      x[last] = {(h.re - a(k, k)) / b, h.im / b};
    } else {
      x[k] = {(h.re - a(last, last)) / c, h.im / c};
      x[last] = {1, 0};
    }
  }
  const double e = std::max(0x1p-52 * Size(h), 0x1p-400);
  const auto at_least = [&](Complex divisor) { return Size(divisor) < e ? Complex{e, 0} : divisor; };
  const auto leave = [&](int64_t from, int64_t to) {
    for (int64_t j = to; j >= from; --j) {
      for (int64_t i = 0; i < from; ++i) {
        x[i] = {std::fma(-a(i, j), x[j].re, x[i].re), std::fma(-a(i, j), x[j].im, x[i].im)};
      }
    }
  };
  leave(k, last);
  for (int64_t end = k - 1; end >= 0;) {
    const int64_t begin = values[end].im != 0 ? end - 1 : end;
    if (begin == end) {
      x[end] = Over(x[end], at_least(Minus({a(end, end), 0}, h)));
    } else {
      const Complex b{a(begin, end), 0}, c{a(end, begin), 0};
      const Complex f = Minus({a(begin, begin), 0}, h), g = Minus({a(end, end), 0}, h), of_x = x[begin], of_y = x[end];
      if (std::fabs(c.re) < Size(f)) {
        const Complex t = Over(c, at_least(f));
        x[end] = Over(Minus(of_y, Times(t, of_x)), at_least(Minus(g, Times(b, t))));
        x[begin] = Over(Minus(of_x, Times(b, x[end])), at_least(f));
      } else {
        const Complex divisor{std::fabs(c.re) < e ? std::copysign(e, c.re) : c.re, 0}, t = Over(f, divisor);
        x[end] = Over(Minus(of_x, Times(t, of_y)), at_least(Minus(b, Times(t, g))));
        x[begin] = Over(Minus(of_y, Times(g, x[end])), divisor);
      }
    }
    double size = 0;
    for (int64_t i = begin; i <= end; ++i) size = std::max(size, Size(x[i]));
    if (size > 0x1p100) {
      int exponent = 0;
      std::frexp(size, &exponent);
      for (Complex& number : x) number = {std::ldexp(number.re, -exponent), std::ldexp(number.im, -exponent)};
    }
    leave(begin, end);
    end = begin - 1;
  }
  return x;
}

Eigen EigenOf(Square a) {
  const int64_t n = a.rows;
  double largest = 0;
  for (double x : a.at) {
    if (!std::isfinite(x)) return Eigen::Lost(n, -1);
    largest = std::max(largest, std::fabs(x));
  }
  int exponent = 0;
  std::frexp(largest, &exponent);
  const int half = static_cast<int>(std::floor(exponent / 2.0));
  for (double& x : a.at) x = std::ldexp(std::ldexp(x, -half), half - exponent);

  const Balanced balanced = Balance(a);
  Search search{a, balanced.lo, balanced.hi, {}, {}};
  search.ToHessenberg();
  if (!search.Run()) return Eigen::Lost(n, 1);
  Square z{n, n, Doubles(n * n)};
  for (int64_t i = 0; i < n; ++i) z(i, i) = 1;
  for (const Turn& turn : search.turns) TurnColumns(turn, z, n - 1);

  Eigen result;
  for (int64_t k = 0; k < n; ++k) {
    const Complex value = search.values[k];
    result.values.push_back({std::ldexp(std::ldexp(value.re, half), exponent - half) + 0.0,
                             std::ldexp(std::ldexp(value.im, half), exponent - half) + 0.0});
    if (value.im < 0) {
      Pairs conjugate = result.vectors.back();
      for (Complex& x : conjugate) x.im = 0.0 - x.im;
      result.vectors.push_back(conjugate);
      continue;
    }
    const Pairs x = VectorOf(search.a, search.values, k);
    Pairs v(n);
    for (int64_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < x.size(); ++j) {
        v[i] = {std::fma(z(i, j), x[j].re, v[i].re), std::fma(z(i, j), x[j].im, v[i].im)};
      }
    }
    balanced.Undo(v);
    Normalize(v);
    result.vectors.push_back(v);
  }
  return result;
}

}  // namespace

template <class T>
static Results RunEigWithVectors(const Case& test_case) {
  const Arguments args(test_case);
  return ResultsOf<T>(args, MatricesOf<T>(args, "input"), EigenOf, true);
}
template <class T>
static Results RunEigvals(const Case& test_case) {
  const Arguments args(test_case);
  return ResultsOf<T>(args, MatricesOf<T>(args, "input"), EigenOf, false);
}

static const Op kOps[] = {{"eig", REPDL_EITHER(RunEigWithVectors)}, {"eigvals", REPDL_EITHER(RunEigvals)}};

}  // namespace repdl::reference

// SPDX-License-Identifier: MIT
#include <algorithm>

#include "ops/eig/eig_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

/// Reflections and rotations of neighbouring columns that wait to be done to Z.
struct Turns {
  struct Turn {
    int64_t place;
    int64_t width;  // 3 or 2 columns are reflected; 0: two are rotated
    double first, second, tau;
  };
  int64_t capacity, used;
  Turn* turns;

  static Turns New(Scratch& scratch, int64_t n) {
    const int64_t capacity = std::max<int64_t>(n + 1, std::min<int64_t>(4 * n * n, 16384));
    return {capacity, 0, scratch.Get<Turn>(capacity)};
  }
  bool HasRoomFor(int64_t count) const { return used + count <= capacity; }
  void Add(const Turn& turn) { turns[used++] = turn; }
};

/// Does all turns to a block of rows of Z.
void TurnBlock(const Turns& turns, const Block& z) {
  const TagOf<double> d;
  for (int64_t i = 0; i < turns.used; ++i) {
    const Turns::Turn& turn = turns.turns[i];
    const VecOf<double> first = Set(d, turn.first), second = Set(d, turn.second), tau = Set(d, turn.tau);
    double *const x = z[turn.place], *const y = z[turn.place + 1];
    double* const w = turn.width == 3 ? z[turn.place + 2] : nullptr;
    for (int64_t q = 0; q < kWidth; q += kLanesOf<double>) {
      const VecOf<double> u = Load(d, x + q), v = Load(d, y + q);
      if (turn.width == 0) {
        Store(Fma(first, u, Mul(second, v)), d, x + q);
        Store(Fma(first, v, Neg(Mul(second, u))), d, y + q);
        continue;
      }
      VecOf<double> sum = Fma(first, v, u);
      if (w != nullptr) sum = Fma(second, Load(d, w + q), sum);
      const VecOf<double> t = Mul(tau, sum);
      Store(Sub(u, t), d, x + q);
      Store(Fma(Neg(first), t, v), d, y + q);
      if (w != nullptr) Store(Fma(Neg(second), t, Load(d, w + q)), d, w + q);
    }
  }
}

/// The triangular form of a matrix, but for blocks of two rows with a pair of values.
struct Schur {
  int64_t n, lo, hi;
  Rows a;
  double *re, *im;  // the values
  bool whole;       // else only what the values need
  Rows reflections;
  double* tau;
  double* t;  // n numbers

  /// Zeros below the first diagonal below the main one. Number i of reflection k stands for place i + 1.
  void ToHessenberg() const {
    std::fill_n(tau, n, 0.0);
    std::fill_n(t, n, 0.0);
    for (int64_t k = 0; k < n; ++k) std::fill_n(reflections[k], n, 0.0);
    for (int64_t k = lo; k + 2 <= hi; ++k) {
      const int64_t first = k + 1, count = hi - k;
      for (int64_t i = first; i <= hi; ++i) t[i - first] = a[i][k];
      double* const v = reflections[k] + k;
      a[first][k] = MakeReflection(t, count, v, &tau[k]);
      for (int64_t i = first + 1; i <= hi; ++i) a[i][k] = 0;
      SetT(first, v, tau[k]);
      for (int64_t i = first; i <= hi; ++i) SubtractRow(v[i - first], t, a[i], hi + 1, n);
      for (int64_t i = 0; i <= hi; ++i) {
        double* const row = a[i] + first;
        const double inner = SubtractAndInner(i < first ? 0.0 : v[i - first], t + first, v, row, count);
        SubtractRow(tau[k] * inner, v, row, 0, count);
      }
    }
  }

  /// False if the search was given up. rotate() takes the turns that wait.
  template <class Rotate>
  bool Diagonalize(Turns* turns, const Rotate& rotate) const {
    for (int64_t i = 0; i < n; ++i) re[i] = a[i][i], im[i] = 0;
    int64_t sweeps = 0, since = 0;
    for (int64_t m = hi; m >= lo;) {
      int64_t l = m;
      for (; l > lo; --l) {
        const double size = SizeOf(a[l][l - 1]);
        if (size <= kLeast || size <= 0x1p-53 * (SizeOf(a[l - 1][l - 1]) + SizeOf(a[l][l]))) {
          a[l][l - 1] = 0;
          break;
        }
      }
      if (turns != nullptr && !turns->HasRoomFor(m - l)) rotate();
      if (l == m) {
        re[m] = a[m][m];
        --m, since = 0;
      } else if (l + 1 == m) {
        SplitTwo(l, turns);
        m -= 2, since = 0;
      } else if (++sweeps > kMaxSweeps * n) {
        return false;
      } else {
        Sweep(l, m, ++since, turns);
      }
    }
    return true;
  }

 private:
  int64_t EndOfColumns(int64_t m) const { return whole ? n : m + 1; }
  int64_t FirstRow(int64_t l) const { return whole ? 0 : l; }

  /// t = tau times the products of v with the columns behind the one before `first`.
  void SetT(int64_t first, const double* v, double factor) const {
    const TagOf<double> tag;
    std::copy(a[first] + first, a[first] + n, t + first);
    int64_t i = first + 1;
    for (; i + 3 <= hi; i += 4) AddRows<4>(i, v + (i - first), t, first);
    for (; i <= hi; ++i) AddRows<1>(i, v + (i - first), t, first);
    ForVectors<double>(n - first, [&](int64_t at, int64_t count) HWY_ATTR {
      StoreN<double>(Mul(Set(tag, factor), LoadN(t + first + at, count)), t + first + at, count);
    });
  }

  template <int kRows>
  HWY_INLINE void AddRows(int64_t row, const double* v, double* sums, int64_t begin) const {
    const TagOf<double> tag;
    ForVectors<double>(n - begin, [&](int64_t at, int64_t count) HWY_ATTR {
      const int64_t j = begin + at;
      VecOf<double> sum = LoadN(sums + j, count);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) sum = Fma(Set(tag, v[r]), LoadN(a[row + r] + j, count), sum);
      StoreN<double>(sum, sums + j, count);
    });
  }

  void Sweep(int64_t l, int64_t m, int64_t number, Turns* turns) const {
    double x = a[m][m], y = a[m - 1][m - 1], w = a[m][m - 1] * a[m - 1][m];
    if (number % 10 == 0) {
      const double s = SizeOf(a[m][m - 1]) + SizeOf(a[m - 1][m - 2]);
      x = y = a[m][m] + 0.75 * s;
      w = -0.4375 * (s * s);
    }
    double head[3];
    int64_t k = m - 2;
    for (;; --k) {
      const double z = a[k][k], f = x - z, g = y - z;
      const double p = (f * g - w) / a[k + 1][k] + a[k][k + 1];
      const double q = ((a[k + 1][k + 1] - z) - f) - g, r = a[k + 2][k + 1];
      const double size = (SizeOf(p) + SizeOf(q)) + SizeOf(r);
      head[0] = p / size, head[1] = q / size, head[2] = r / size;
      if (k == l) break;
      const double around = (SizeOf(a[k - 1][k - 1]) + SizeOf(z)) + SizeOf(a[k + 1][k + 1]);
      const double off = SizeOf(a[k][k - 1]) * (SizeOf(head[1]) + SizeOf(head[2]));
      if (off <= 0x1p-53 * (SizeOf(head[0]) * around)) break;
    }
    for (int64_t j = k; j < m; ++j) {
      const int64_t width = std::min<int64_t>(3, m - j + 1);
      if (j > k) {
        for (int64_t i = 0; i < width; ++i) head[i] = a[j + i][j - 1];
      }
      double v[3] = {1, 0, 0}, factor;
      const double result = MakeReflection(head, width, v, &factor);
      if (j > k) {
        a[j][j - 1] = result;
        for (int64_t i = 1; i < width; ++i) a[j + i][j - 1] = 0;
      } else if (k > l) {
        a[j][j - 1] = a[j][j - 1] * (1.0 - factor);
      }
      if (width == 3) {
        Reflect<3>(j, l, m, v, factor);
      } else {
        Reflect<2>(j, l, m, v, factor);
      }
      if (turns != nullptr) turns->Add({j, width, v[1], v[2], factor});
    }
  }

  /// Rows and columns from j on.
  template <int kCount>
  void Reflect(int64_t j, int64_t l, int64_t m, const double* v, double factor) const {
    const TagOf<double> tag;
    const VecOf<double> v1 = Set(tag, v[1]), v2 = Set(tag, v[2]), times = Set(tag, factor);
    double *const x = a[j], *const y = a[j + 1], *const z = kCount == 3 ? a[j + 2] : nullptr;
    ForVectors<double>(EndOfColumns(m) - j, [&](int64_t at, int64_t count) HWY_ATTR {
      const int64_t c = j + at;
      const VecOf<double> first = LoadN(x + c, count), second = LoadN(y + c, count);
      VecOf<double> third = Zero(tag), sum = Fma(v1, second, first);
      if constexpr (kCount == 3) {
        third = LoadN(z + c, count);
        sum = Fma(v2, third, sum);
      }
      const VecOf<double> t = Mul(times, sum);
      StoreN<double>(Sub(first, t), x + c, count);
      StoreN<double>(Fma(Neg(v1), t, second), y + c, count);
      if constexpr (kCount == 3) StoreN<double>(Fma(Neg(v2), t, third), z + c, count);
    });
    for (int64_t i = FirstRow(l); i <= std::min(j + 3, m); ++i) {
      double* const row = a[i] + j;
      double sum = Fma(v[1], row[1], row[0]);
      if constexpr (kCount == 3) sum = Fma(v[2], row[2], sum);
      const double t = factor * sum;
      row[0] = row[0] - t;
      row[1] = Fma(-v[1], t, row[1]);
      if constexpr (kCount == 3) row[2] = Fma(-v[2], t, row[2]);
    }
  }

  /// The values of rows l and l + 1, which become triangular if they are real.
  void SplitTwo(int64_t l, Turns* turns) const {
    const int64_t m = l + 1;
    const double c = a[m][l], d = a[m][m], p = 0.5 * (a[l][l] - d), w = a[l][m] * c, q = p * p + w;
    double z = Sqrt(SizeOf(q));
    if (q < 0) {
      re[l] = re[m] = d + p;
      im[l] = z, im[m] = -z;
      return;
    }
    z = p < 0 ? p - z : p + z;
    re[l] = d + z;
    re[m] = z == 0 ? re[l] : d - w / z;
    const Rotation turn = Rotation::Of(z, c);
    const TagOf<double> tag;
    const VecOf<double> cosine = Set(tag, turn.c), sine = Set(tag, turn.s);
    ForVectors<double>(EndOfColumns(m) - l, [&](int64_t at, int64_t count) HWY_ATTR {
      const VecOf<double> u = LoadN(a[l] + l + at, count), v = LoadN(a[m] + l + at, count);
      StoreN<double>(Fma(cosine, u, Mul(sine, v)), a[l] + l + at, count);
      StoreN<double>(Fma(cosine, v, Neg(Mul(sine, u))), a[m] + l + at, count);
    });
    for (int64_t i = FirstRow(l); i <= m; ++i) {
      const double u = a[i][l], v = a[i][m];
      a[i][l] = Fma(turn.c, u, turn.s * v);
      a[i][m] = Fma(turn.c, v, -(turn.s * u));
    }
    a[m][l] = 0;
    a[l][l] = re[l], a[m][m] = re[m];
    if (turns != nullptr) turns->Add({l, 0, turn.c, turn.s, 0});
  }
};

/// Vectors of the triangular form and its blocks.
struct Vectors {
  int64_t n;
  Rows a, columns;  // columns[j][i] = a[i][j]
  const double *re, *im;

  /// That of the value in row k, and of the one behind it if they are a pair: x, of k + 1 or k + 2 parts each.
  void Solve(int64_t k, double* x, double* y) const {
    const bool is_pair = im[k] != 0;
    const int64_t last = is_pair ? k + 1 : k;
    std::fill_n(x, last + 1, 0.0);
    std::fill_n(y, last + 1, 0.0);
    if (is_pair) {
      const double b = a[k][last], c = a[last][k];
      const bool by_c = !(SizeOf(c) < SizeOf(b));
      const int64_t one = by_c ? last : k, other = by_c ? k : last;
      x[one] = 1;
      x[other] = (re[k] - a[one][one]) / (by_c ? c : b);
      y[other] = im[k] / (by_c ? c : b);
    } else {
      x[k] = 1;
    }
    const Complex value{re[k], im[k]};
    const double least = std::max(0x1p-52 * SizeOf(value), kLeast);
    Subtract(k, last, is_pair, x, y);
    for (int64_t i = k - 1; i >= 0; --i) {
      const int64_t end = i;
      if (im[i] != 0) {
        --i;
        SolveTwo(i, value, least, x, y);
      } else {
        Put(Complex{x[i], y[i]} / AtLeast(least, Complex{a[i][i], 0} - value), i, x, y);
      }
      double size = 0;
      for (int64_t j = i; j <= end; ++j) size = std::max(size, SizeOf(Complex{x[j], y[j]}));
      if (size > 0x1p100) {
        const int64_t exponent = static_cast<int64_t>(std::bit_cast<uint64_t>(size) >> 52) - 1022;
        const double down = PowerOf2(-exponent);
        for (int64_t j = 0; j <= last; ++j) x[j] = x[j] * down, y[j] = y[j] * down;
      }
      Subtract(i, end, is_pair, x, y);
    }
  }

 private:
  static Complex AtLeast(double least, const Complex& x) { return SizeOf(x) < least ? Complex{least, 0} : x; }
  static void Put(const Complex& value, int64_t i, double* x, double* y) { x[i] = value.re, y[i] = value.im; }

  /// The columns first … last from the rows before.
  void Subtract(int64_t first, int64_t last, bool is_pair, double* x, double* y) const {
    for (int64_t j = last; j >= first; --j) {
      SubtractRow(x[j], columns[j], x, 0, first);
      if (is_pair) SubtractRow(y[j], columns[j], y, 0, first);
    }
  }

  void SolveTwo(int64_t i, const Complex& value, double least, double* re_x, double* im_x) const {
    const double b = a[i][i + 1], c = a[i + 1][i];
    const Complex f = Complex{a[i][i], 0} - value, g = Complex{a[i + 1][i + 1], 0} - value;
    const Complex x{re_x[i], im_x[i]}, y{re_x[i + 1], im_x[i + 1]};
    if (SizeOf(c) < SizeOf(f)) {
      const Complex divisor = AtLeast(least, f), t = Complex{c, 0} / divisor;
      const Complex below = (y - t * x) / AtLeast(least, g - Complex{b, 0} * t);
      Put((x - Complex{b, 0} * below) / divisor, i, re_x, im_x);
      Put(below, i + 1, re_x, im_x);
    } else {
      const Complex divisor{SizeOf(c) < least ? __builtin_copysign(least, c) : c, 0}, t = f / divisor;
      const Complex below = (x - t * y) / AtLeast(least, Complex{b, 0} - t * g);
      Put((y - g * below) / divisor, i, re_x, im_x);
      Put(below, i + 1, re_x, im_x);
    }
  }
};

/// The sums over j <= last of column j of the rows times number j of x and y.
void Multiply(const Lanewise& rows, int64_t last, const double* x, const double* y, bool is_pair, double* out_x,
              double* out_y) {
  const TagOf<double> d;
  HWY_ALIGN double buffer[kWidth];
  const auto product = [&](const Block& z, const double* numbers, double* out, int64_t count) HWY_ATTR {
    Lanes sum[kVecs], column[kVecs];
    for (int q = 0; q < kVecs; ++q) sum[q] = Zero(d);
    for (int64_t j = 0; j <= last; ++j) {
      const VecOf<double> number = Set(d, numbers[j]);
      Read(z[j], column);
#pragma GCC unroll 4
      for (int q = 0; q < kVecs; ++q) sum[q] = Fma<VecOf<double>>(column[q], number, sum[q]);
    }
    for (int q = 0; q < kVecs; ++q) StoreU(VecOf<double>(sum[q]), d, buffer + q * kLanesOf<double>);
    std::copy_n(buffer, count, out);
  };
  for (int64_t block = 0; block < rows.num_blocks(); ++block) {
    const int64_t first = block * kWidth, count = std::min(kWidth, rows.n - first);
    product(rows.At(block), x, out_x + first, count);
    if (is_pair) product(rows.At(block), y, out_y + first, count);
  }
  if (!is_pair) std::fill_n(out_y, rows.n, 0.0);
}

/// Values and, if `vectors` has memory, vectors of the matrix in `a`, which changes: pairs, a vector a row.
int64_t Solve(const Rows& a, int64_t n, double* values, const Rows& vectors) {
  const bool with_vectors = vectors.data != nullptr;
  const Scale scale = ScaleOf(a, n, n);
  if (!scale.finite) return Fail(-1, n, values, vectors);
  Divide(a, n, n, scale);
  Scratch scratch;
  Balance balance = Balance::New(scratch, n);
  balance.Run({&a, 1});
  double* const numbers = scratch.Get<double>(4 * n);
  double *const re = numbers, *const im = numbers + n, *const tau = numbers + 2 * n;
  const Rows reflections = NewRows(scratch, n, n);
  const Schur schur{n, balance.lo, balance.hi, a, re, im, with_vectors, reflections, tau, numbers + 3 * n};
  schur.ToHessenberg();
  const auto put_values = [&] {
    for (int64_t i = 0; i < n; ++i) {
      values[2 * i] = scale.Times(re[i]) + 0.0;
      values[2 * i + 1] = scale.Times(im[i]) + 0.0;
    }
  };
  if (!with_vectors) {
    if (!schur.Diagonalize(nullptr, [] {})) return Fail(1, n, values, vectors);
    put_values();
    return 0;
  }
  const Lanewise rows = Lanewise::Identity(scratch, n);
  rows.ReflectAll(reflections, tau, n - 2, 1);
  Turns turns = Turns::New(scratch, n);
  const auto rotate = [&] {
    ParallelRanges(rows.num_blocks(), 50000 / (6 * turns.used * kWidth + 1) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) TurnBlock(turns, rows.At(block));
    });
    turns.used = 0;
  };
  if (!schur.Diagonalize(&turns, rotate)) return Fail(1, n, values, vectors);
  rotate();
  put_values();
  const Rows columns = NewRows(scratch, n, n);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) columns[j][i] = a[i][j];
  }
  const Vectors triangular{n, a, columns, re, im};
  ParallelRanges(n, 50000 / (2 * n * n + 1) + 1, [&](int64_t begin, int64_t end) {
    Scratch own;
    double* const x = own.Get<double>(4 * n);
    double *const y = x + n, *const out_x = y + n, *const out_y = out_x + n;
    for (int64_t k = begin; k < end; ++k) {
      if (im[k] < 0) continue;  // done with the one before
      const bool is_pair = im[k] > 0;
      triangular.Solve(k, x, y);
      Multiply(rows, is_pair ? k + 1 : k, x, y, is_pair, out_x, out_y);
      balance.Undo(out_x);
      if (is_pair) balance.Undo(out_y);
      Normalize(n, {out_x, out_y});
      PutPairs(n, {out_x, out_y}, 1, vectors[k]);
      if (is_pair) PutPairs(n, {out_x, out_y}, -1, vectors[k + 1]);
    }
  });
  return 0;
}

}  // namespace

void EigKernel(const EigArgs& args) { ForEachMatrix<Rows>(args, args.vectors == nullptr ? 10 : 25, &Solve); }

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

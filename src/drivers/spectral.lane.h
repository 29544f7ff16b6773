// SPDX-License-Identifier: MIT
// What eigenvalues and singular values share, in lane words: scales, rotations, the search, and the signs of vectors.

inline constexpr double kLeast = 0x1p-400;
/// Sweeps for each value before the search is given up.
inline constexpr int64_t kMaxSweeps = 40;

/// The power of 2 above the numbers of a matrix, and whether they are finite.
struct Scale {
  int64_t exponent, half;
  bool finite;

  /// From the largest of the numbers' bits without their signs.
  static REPDL_LANE Scale Of(int64_t top) {
    Scale scale{0, 0, top < int64_t{0x7ff} << 52};
    if (top == 0 || !scale.finite) return scale;
    const bool is_small = top < int64_t{1} << 52;
    if (is_small) top = BitsOf(Mul(OfBits(top), 0x1p54));
    scale.exponent = (top >> 52) - 1022 - (is_small ? 54 : 0);
    scale.half = scale.exponent >> 1;
    return scale;
  }
  static REPDL_LANE int64_t Larger(int64_t top, double x) {
    const int64_t bits = BitsOf(x) & INT64_MAX;
    return bits > top ? bits : top;
  }
  static REPDL_LANE int64_t Larger(int64_t top, const Complex& x) { return Larger(Larger(top, x.re), x.im); }

  /// Divided by the power, in two steps that are powers themselves.
  REPDL_LANE double Divided(double x) const { return Mul(Mul(x, PowerOf2(-half)), PowerOf2(half - exponent)); }
  REPDL_LANE Complex Divided(const Complex& x) const { return {Divided(x.re), Divided(x.im)}; }
  REPDL_LANE double Times(double x) const { return Mul(Mul(x, PowerOf2(half)), PowerOf2(exponent - half)); }
};

/// (c x + s z, c z - s x) = (r, 0).
struct Rotation {
  double c, s, r;

  static REPDL_LANE Rotation Of(double x, double z) {
    if (Abs(z) < kLeast) return {1.0, 0.0, x};
    const double r = Sqrt(Add(Mul(x, x), Mul(z, z)));
    return {Div(x, r), Div(z, r), r};
  }
};

/// Numbers u and v of a vector, by a rotation.
template <class V>
REPDL_LANE void RotatePair(V c, V s, V& u, V& v) {
  const V old = u;
  u = Fma(c, old, Mul(s, v));
  v = Fma(c, v, Neg(Mul(s, old)));
}

/// Rotations of neighbours that wait, in sweeps: one of (first, first + 1), of (first + 1, first + 2), and so on.
struct Rotations {
  int64_t capacity;
  double* angles;   // c, s; without memory nobody wants the rotations
  int64_t* sweeps;  // first, count
  int64_t used, num_sweeps;

  static REPDL_LANE int64_t CapacityFor(int64_t n) {
    const int64_t some = n < 90 ? 4 * n * n : 32768;
    return n > some ? n : some;
  }
  REPDL_LANE bool HasRoomFor(int64_t count) const { return angles == nullptr || used + count <= capacity; }
  REPDL_LANE void Begin(int64_t first, int64_t count) {
    if (angles == nullptr) return;
    sweeps[2 * num_sweeps] = first;
    sweeps[2 * num_sweeps + 1] = count;
    ++num_sweeps;
  }
  REPDL_LANE void Take(const Rotation& rotation) {
    if (angles == nullptr) return;
    angles[2 * used] = rotation.c;
    angles[2 * used + 1] = rotation.s;
    ++used;
  }
  REPDL_LANE void Clear() { used = num_sweeps = 0; }
};

/// Where the search for the values of d and e has got to.
struct Search {
  int64_t n, m, sweeps;
  double* d;
  double* e;
  double least;  // what a number of e may be off from 0 anywhere
  int64_t info;

  static REPDL_LANE Search Of(int64_t n, double* d, double* e) {
    double largest = 0.0;
    for (int64_t i = 0; i < n; ++i) largest = LargestPart(largest, d[i]);
    for (int64_t i = 0; i + 1 < n; ++i) largest = LargestPart(largest, e[i]);
    return {n, n - 1, 0, d, e, Mul(largest, 0x1p-60), 0};
  }

  /// The first row of the next block of d and e, which ends with row m; or -1 when all values are found, or the search
  /// is given up. The number of e before the block counts as 0 and becomes 0.
  REPDL_LANE int64_t BeginOfBlock() {
    for (; m > 0; --m) {
      const int64_t l = FirstOfBlock();
      if (l == m) continue;
      if (sweeps < kMaxSweeps * n) return l;
      info = 1;
      return -1;
    }
    return -1;
  }

 private:
  REPDL_LANE int64_t FirstOfBlock() const {
    int64_t l = m;
    for (; l > 0; --l) {
      const double size = Abs(e[l - 1]);
      if (size <= least || size <= Mul(0x1p-53, Add(Abs(d[l - 1]), Abs(d[l])))) {
        e[l - 1] = 0.0;
        break;
      }
    }
    return l;
  }
};

/// -1 if the first of the largest numbers is negative.
REPDL_LANE double SignOfLargest(const double* x, int64_t n) {
  double size = 0.0, sign = 1.0;
  for (int64_t i = 0; i < n; ++i) {
    if (Abs(x[i]) > size) size = Abs(x[i]), sign = x[i] < 0.0 ? -1.0 : 1.0;
  }
  return sign;
}

/// What makes the first of the largest numbers real and positive, `size`, and its place.
struct Phase {
  int64_t place;
  double size;
  Complex p;

  template <class Row>
  static REPDL_LANE Phase Of(const Row& x, int64_t n) {
    int64_t place = 0;
    double square = 0.0;
    for (int64_t i = 0; i < n; ++i) {
      const double of_x = SquaresOf(x[i]);
      if (of_x > square) square = of_x, place = i;
    }
    const Complex largest = x[place];
    const double size = Sqrt(square);
    return {place, size, {Div(largest.re, size), Neg(Div(largest.im, size))}};
  }
};

/// Times a factor; no zero becomes -0.
REPDL_LANE double TimesWithoutSign(double x, double factor) { return Add(Mul(x, factor), 0.0); }
REPDL_LANE Complex TimesWithoutSign(const Complex& x, const Complex& factor) {
  const Complex product = Times(x, factor);
  return {Add(product.re, 0.0), Add(product.im, 0.0)};
}
REPDL_LANE Complex TimesWithoutSign(const Complex& x, double factor) {
  return {TimesWithoutSign(x.re, factor), TimesWithoutSign(x.im, factor)};
}

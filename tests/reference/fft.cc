// SPDX-License-Identifier: MIT
#include <cmath>
#include <map>
#include <utility>

#include "op.h"
#include "real.h"

namespace repdl::reference {
namespace {

template <class T>
struct Complex {
  T re, im;

  friend Complex operator+(Complex x, Complex y) { return {x.re + y.re, x.im + y.im}; }
  friend Complex operator-(Complex x, Complex y) { return {x.re - y.re, x.im - y.im}; }
  friend Complex operator*(Complex x, Complex y) { return {x.re * y.re - x.im * y.im, x.im * y.re + x.re * y.im}; }
  friend Complex operator*(T factor, Complex x) { return {x.re * factor, x.im * factor}; }
  Complex Conjugate() const { return {re, -im}; }
  Complex Swapped() const { return {im, re}; }
};

template <class T>
using Row = std::vector<Complex<T>>;

/// The cosine and the sine of j / n turns as doubles; their zeros are +0. They are kept, since a transform asks for the
/// same ones many times.
std::pair<double, double> CosineAndSine(int64_t j, int64_t n) {
  static std::map<std::pair<int64_t, int64_t>, std::pair<double, double>> known;
  j %= n;
  if (const auto found = known.find({j, n}); found != known.end()) return found->second;
  const Real angle = Real(2.0) * Pi() * Real(static_cast<double>(j)) / Real(static_cast<double>(n));
  double cosine = mpfr_get_d(Real::Of(mpfr_cos, angle.get()).get(), MPFR_RNDN);
  double sine = mpfr_get_d(Real::Of(mpfr_sin, angle.get()).get(), MPFR_RNDN);
  if (4 * j == n || 4 * j == 3 * n) cosine = 0;
  if (2 * j == n) sine = 0;
  return known[{j, n}] = {cosine, sine};
}

/// w(n)^j
template <class T>
Complex<T> Root(int64_t j, int64_t n) {
  const auto [cosine, sine] = CosineAndSine(j, n);
  return {static_cast<T>(cosine), static_cast<T>(0.0 - sine)};
}

std::vector<int64_t> Factors(int64_t n) {
  std::vector<int64_t> factors;
  for (int64_t p : {4, 2}) {
    for (; n % p == 0; n /= p) factors.push_back(p);
  }
  for (int64_t p = 3; n > 1; p += 2) {
    for (; n % p == 0; n /= p) factors.push_back(p);
  }
  return factors;
}

/// The sums of a[q] w(p)^(jq).
template <class T>
Row<T> SumsOf(const Row<T>& a) {
  const auto p = static_cast<int64_t>(a.size());
  Row<T> b(a.size());
  if (p == 2) return {a[0] + a[1], a[0] - a[1]};
  if (p == 4) {
    const Complex<T> e = a[0] + a[2], o = a[1] + a[3], f = a[0] - a[2];
    const Complex<T> g = {a[1].im - a[3].im, a[3].re - a[1].re};
    return {e + o, f + g, e - o, f - g};
  }
  b[0] = a[0];
  for (int64_t q = 1; q <= p / 2; ++q) b[0] = b[0] + (a[q] + a[p - q]);
  for (int64_t j = 1; j <= p / 2; ++j) {
    Complex<T> even = a[0], odd = {};
    for (int64_t q = 1; q <= p / 2; ++q) {
      const auto [cosine, sine] = CosineAndSine(j * q, p);
      even = even + static_cast<T>(cosine) * (a[q] + a[p - q]);
      const Complex<T> term = static_cast<T>(sine) * (a[q] - a[p - q]);
      odd = q == 1 ? term : odd + term;
    }
    b[j] = {even.re + odd.im, even.im - odd.re};
    b[p - j] = {even.re - odd.im, even.im + odd.re};
  }
  return b;
}

template <class T>
Row<T> Transform(const Row<T>& x);

template <class T>
Row<T> Swapped(Row<T> x) {
  for (Complex<T>& z : x) z = z.Swapped();
  return x;
}

template <class T>
Row<T> Inverse(const Row<T>& x) {
  return Swapped(Transform(Swapped(x)));
}

template <class T>
Row<T> Convolution(const Row<T>& x) {
  const auto n = static_cast<int64_t>(x.size());
  int64_t length = 1;
  const auto fits = [&](int64_t l) {
    for (int64_t c : {1, 3, 5}) {
      if (l % c == 0 && ((l / c) & (l / c - 1)) == 0) return true;
    }
    return false;
  };
  while (length < 2 * n - 1 || !fits(length)) ++length;
  Row<double> inverse(length);
  Row<T> padded(length);
  for (int64_t k = 0; k < n; ++k) {
    inverse[k] = inverse[(length - k) % length] = Root<double>(k * k, 2 * n).Conjugate();
    padded[k] = x[k] * Root<T>(k * k, 2 * n);
  }
  inverse = Transform(inverse);
  Row<T> spectrum = Transform(padded);
  for (int64_t k = 0; k < length; ++k) {
    const double divisor = static_cast<double>(length);
    spectrum[k] =
        spectrum[k] * Complex<T>{static_cast<T>(inverse[k].re / divisor), static_cast<T>(inverse[k].im / divisor)};
  }
  Row<T> result = Inverse(spectrum);
  result.resize(n);
  for (int64_t k = 0; k < n; ++k) result[k] = result[k] * Root<T>(k * k, 2 * n);
  return result;
}

template <class T>
Row<T> Transform(const Row<T>& x) {
  const auto n = static_cast<int64_t>(x.size());
  const std::vector<int64_t> factors = Factors(n);
  if (!factors.empty() && factors.back() > 31) return Convolution(x);
  Row<T> from = x;  // A[k, t] is number k n / l + t
  int64_t l = 1;
  for (int64_t p : factors) {
    const int64_t m = n / (l * p);
    Row<T> to(n);
    for (int64_t k = 0; k < l; ++k) {
      for (int64_t t = 0; t < m; ++t) {
        Row<T> a(p);
        for (int64_t q = 0; q < p; ++q) {
          a[q] = from[(k * p + q) * m + t];
          if (l > 1 && q > 0) a[q] = a[q] * Root<T>(q * k, l * p);
        }
        const Row<T> b = SumsOf(a);
        for (int64_t j = 0; j < p; ++j) to[(k + j * l) * m + t] = b[j];
      }
    }
    from = to;
    l *= p;
  }
  return from;
}

/// The spectrum of real numbers.
template <class T>
Row<T> OfReal(const Numbers<T>& x) {
  const auto n = static_cast<int64_t>(x.size());
  if (n % 2 != 0) {
    Row<T> row(n);
    for (int64_t i = 0; i < n; ++i) row[i] = {x[i], 0};
    row = Transform(row);
    row.resize(n / 2 + 1);
    return row;
  }
  const int64_t h = n / 2;
  Row<T> z(h), result(h + 1);
  for (int64_t i = 0; i < h; ++i) z[i] = {x[2 * i], x[2 * i + 1]};
  z = Transform(z);
  for (int64_t k = 0; k <= h; ++k) {
    const Complex<T> here = z[k % h], there = z[(h - k) % h].Conjugate();
    const Complex<T> w = Root<T>(k, n), root = {w.im, w.re == 0 ? T{0} : -w.re};
    result[k] = static_cast<T>(0.5) * ((here + there) + root * (here - there));
  }
  return result;
}

template <class T>
Numbers<T> ToReal(Row<T> x, int64_t n) {
  Numbers<T> result(n);
  const int64_t h = n / 2;
  x[0].im = 0;
  if (n % 2 != 0) {
    x.resize(n);
    for (int64_t k = 1; k <= h; ++k) x[n - k] = x[k].Conjugate();
    x = Inverse(x);
    for (int64_t i = 0; i < n; ++i) result[i] = x[i].re;
    return result;
  }
  x[h].im = 0;
  Row<T> z(h);
  for (int64_t k = 0; k < h; ++k) {
    const Complex<T> here = x[k], there = x[h - k].Conjugate();
    const Complex<T> w = Root<T>(k, n), root = {w.im, w.re == 0 ? T{0} : -w.re};
    z[k] = (here + there) + root.Conjugate() * (here - there);
  }
  z = Inverse(z);
  for (int64_t i = 0; i < h; ++i) {
    result[2 * i] = z[i].re;
    result[2 * i + 1] = z[i].im;
  }
  return result;
}

/// A row-major tensor of complex numbers.
template <class T>
struct Spectrum {
  IntList shape;
  Row<T> data;

  explicit Spectrum(const IntList& shape) : shape(shape), data(Size(shape)) {}
  Spectrum(IntList pairs_shape, const Numbers<T>& pairs) {
    for (int i = 0; i + 1 < pairs_shape.size(); ++i) shape.Append(pairs_shape[i]);
    for (size_t i = 0; i + 1 < pairs.size(); i += 2) data.push_back({pairs[i], pairs[i + 1]});
  }

  Numbers<T> Pairs() const {
    Numbers<T> pairs;
    for (const Complex<T>& z : data) {
      pairs.push_back(z.re);
      pairs.push_back(z.im);
    }
    return pairs;
  }
  void TransformAlong(int64_t dim, bool forward) {
    const Layout layout = Layout::Along(shape, dim);
    for (int64_t row = 0; row < layout.rows(); ++row) {
      Row<T> x(layout.length);
      for (int64_t i = 0; i < layout.length; ++i) x[i] = data[layout.At(row, i)];
      x = forward ? Transform(x) : Inverse(x);
      for (int64_t i = 0; i < layout.length; ++i) data[layout.At(row, i)] = x[i];
    }
  }
};

/// Dimensions from 0 on.
IntList Dims(const Arguments& args, int64_t rank) {
  IntList dims;
  for (int64_t d : args.List("dim")) dims.Append(d < 0 ? d + rank : d);
  return dims;
}

template <class T>
void Divide(Numbers<T>& x, const IntList& lengths, int64_t normalization) {
  double n = 1;
  for (int64_t length : lengths) n *= static_cast<double>(length);
  if (normalization == 0) return;
  const T divisor = static_cast<T>(normalization == 1 ? std::sqrt(n) : n);
  for (T& value : x) value /= divisor;
}

IntList Lengths(const IntList& shape, const IntList& dims, int count) {
  IntList lengths;
  for (int i = 0; i < count; ++i) lengths.Append(shape[dims[i]]);
  return lengths;
}

}  // namespace

template <class T>
static Results RunC2c(const Case& test_case) {
  const Arguments args(test_case);
  Spectrum<T> spectrum(args.Shape("input"), args.NumbersOf<T>("input"));
  const IntList dims = Dims(args, spectrum.shape.size());
  for (int i = dims.size() - 1; i >= 0; --i) spectrum.TransformAlong(dims[i], args.Flag("forward"));
  Numbers<T> output = spectrum.Pairs();
  if (dims.size() > 0) Divide(output, Lengths(spectrum.shape, dims, dims.size()), args.Int("normalization"));
  Results results;
  Append(results, output, args.OutputShape());
  return results;
}

template <class T>
static Results RunR2c(const Case& test_case) {
  const Arguments args(test_case);
  const Numbers<T> x = args.NumbersOf<T>("input");
  const IntList shape = args.Shape("input"), dims = Dims(args, shape.size());
  const int64_t last = dims[dims.size() - 1], n = shape[last];
  IntList half_shape = shape;
  half_shape[last] = n / 2 + 1;
  Spectrum<T> half(half_shape);
  const Layout in = Layout::Along(shape, last), out = Layout::Along(half_shape, last);
  for (int64_t row = 0; row < in.rows(); ++row) {
    Numbers<T> numbers(n);
    for (int64_t i = 0; i < n; ++i) numbers[i] = x[in.At(row, i)];
    const Row<T> result = OfReal(numbers);
    for (int64_t k = 0; k <= n / 2; ++k) half.data[out.At(row, k)] = result[k];
  }
  for (int i = dims.size() - 2; i >= 0; --i) half.TransformAlong(dims[i], true);
  Spectrum<T> whole(shape);
  for (int64_t at = 0; at < static_cast<int64_t>(whole.data.size()); ++at) {
    // The indices of the element, and those of the opposite one.
    IntList here = shape, there;
    int64_t rest = at;
    for (int i = shape.size() - 1; i >= 0; --i) {
      here[i] = rest % shape[i];
      rest /= shape[i];
    }
    there = here;
    for (int64_t d : dims) there[d] = (shape[d] - here[d]) % shape[d];
    const bool mirrored = here[last] > n / 2;
    int64_t from = 0;
    for (int i = 0; i < shape.size(); ++i) from = from * half_shape[i] + (mirrored ? there : here)[i];
    whole.data[at] = mirrored ? half.data[from].Conjugate() : half.data[from];
  }
  Numbers<T> output = (args.Flag("onesided") ? half : whole).Pairs();
  Divide(output, Lengths(shape, dims, dims.size()), args.Int("normalization"));
  Results results;
  Append(results, output, args.OutputShape());
  return results;
}

template <class T>
static Results RunC2r(const Case& test_case) {
  const Arguments args(test_case);
  Spectrum<T> spectrum(args.Shape("input"), args.NumbersOf<T>("input"));
  const IntList dims = Dims(args, spectrum.shape.size());
  const int64_t last = dims[dims.size() - 1], n = args.Int("last_dim_size");
  for (int i = dims.size() - 2; i >= 0; --i) spectrum.TransformAlong(dims[i], false);
  if (dims.size() > 1) {
    Numbers<T> pairs = spectrum.Pairs();
    Divide(pairs, Lengths(spectrum.shape, dims, dims.size() - 1), args.Int("normalization"));
    spectrum = Spectrum<T>(args.Shape("input"), pairs);
  }
  const IntList shape = args.OutputShape();
  Numbers<T> output(Size(shape));
  const Layout in = Layout::Along(spectrum.shape, last), out = Layout::Along(shape, last);
  for (int64_t row = 0; row < out.rows(); ++row) {
    Row<T> x(in.length);
    for (int64_t i = 0; i < in.length; ++i) x[i] = spectrum.data[in.At(row, i)];
    const Numbers<T> numbers = ToReal(x, n);
    for (int64_t i = 0; i < n; ++i) output[out.At(row, i)] = numbers[i];
  }
  Divide(output, {n}, args.Int("normalization"));
  Results results;
  Append(results, output, shape);
  return results;
}

static const Op kOps[] = {
    {"fft_c2c", REPDL_EITHER(RunC2c)}, {"fft_r2c", REPDL_EITHER(RunR2c)}, {"fft_c2r", REPDL_EITHER(RunC2r)}};

}  // namespace repdl::reference

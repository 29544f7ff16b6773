// SPDX-License-Identifier: MIT
#include "philox.h"

#include <gmp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "functions.h"
#include "op.h"

namespace repdl::reference {
namespace {

using Words = std::array<uint32_t, 4>;

/// Philox4x32-10, as its authors' paper has it.
Words Philox(Words counter, uint32_t key0, uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = uint64_t{counter[0]} * 0xd2511f53, product1 = uint64_t{counter[2]} * 0xcd9e8d57;
    counter = {static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key0, static_cast<uint32_t>(product1),
               static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key1, static_cast<uint32_t>(product0)};
    key0 += 0x9e3779b9;
    key1 += 0xbb67ae85;
  }
  return counter;
}

float SinPi(float x) { return Rounded(*FindFunction("sinpi"), x); }

float CosPi(float x) { return Rounded(*FindFunction("cospi"), x); }

/// function(x), correctly rounded to float32.
float Of(std::string_view function, float x) { return Rounded(*FindFunction(function), x); }

/// The results of an op whose element is `element(number in the stream)`, rounded to the type of the tensor.
template <class Element>
Results Filled(const Arguments& args, const PhiloxStream& stream, const Element& element) {
  Floats values(static_cast<size_t>(Size(args.Shape("tensor"))));
  for (size_t i = 0; i < values.size(); ++i) values[i] = element(stream.Number(i));
  Results results;
  Append(results, std::move(values), args.Shape("tensor"), args.Type("tensor"));
  return results;
}

template <class Element>
Results FilledWithIntegers(const Arguments& args, const PhiloxStream& stream, const Element& element) {
  Indices values(static_cast<size_t>(Size(args.Shape("tensor"))));
  for (size_t i = 0; i < values.size(); ++i) values[i] = element(stream.Number(i));
  Results results;
  Append(results, std::move(values), args.Shape("tensor"));
  return results;
}

}  // namespace

PhiloxStream::PhiloxStream(const Arguments& args) : PhiloxStream(args, args.Int("offset")) {}

PhiloxStream::PhiloxStream(const Arguments& args, int64_t offset)
    : seed_(static_cast<uint64_t>(args.Int("seed"))),
      call_(static_cast<uint64_t>(args.Int("call"))),
      offset_(static_cast<uint64_t>(offset)) {}

uint32_t PhiloxStream::Word(uint64_t number) const {
  const uint64_t block = number / 4;
  const Words words = Philox({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32),
                              static_cast<uint32_t>(call_), static_cast<uint32_t>(call_ >> 32)},
                             static_cast<uint32_t>(seed_), static_cast<uint32_t>(seed_ >> 32));
  return words[number % 4];
}

float PhiloxStream::Unit(uint64_t number) const { return std::ldexp(static_cast<float>(Word(number) / 256), -24); }

float PhiloxStream::OpenUnit(uint64_t number) const {
  const float value = static_cast<float>(std::ldexp(static_cast<double>(Word(number)) + 1.0, -32));
  return value < 1.0f ? value : 1.0f - 0x1p-24f;
}

double PhiloxStream::Unit53(uint64_t number) const {
  return std::ldexp(static_cast<double>((uint64_t{Word(number + 1)} << 32 | Word(number)) >> 11), -53);
}

float PhiloxStream::Bernoulli(uint64_t number, double p) const {
  return static_cast<double>(Word(number)) < std::floor(std::ldexp(p, 32)) ? 1.0f : 0.0f;
}

static Results RunPhiloxBits(const Case& test_case) {
  const Arguments args(test_case);
  const PhiloxStream stream(args);
  return FilledWithIntegers(args, stream, [&](uint64_t n) { return static_cast<int64_t>(stream.Word(n)); });
}

static Results RunPhiloxRandint(const Case& test_case) {
  const Arguments args(test_case);
  const PhiloxStream stream(args);
  mpz_t first, count, product;
  mpz_inits(first, count, product, nullptr);
  mpz_set_si(first, args.Int("first"));
  mpz_set_si(count, args.Int("last"));
  mpz_sub(count, count, first);
  mpz_add_ui(count, count, 1);
  Results results = FilledWithIntegers(args, stream, [&](uint64_t n) -> int64_t {
    mpz_set_ui(product, stream.Word(2 * n + 1));
    mpz_mul_2exp(product, product, 32);
    mpz_add_ui(product, product, stream.Word(2 * n));
    mpz_mul(product, product, count);
    mpz_fdiv_q_2exp(product, product, 64);
    mpz_add(product, product, first);
    return mpz_get_si(product);
  });
  mpz_clears(first, count, product, nullptr);
  return results;
}

/// Of float64: every step rounded, and below high.
static Results RunPhiloxUniformDouble(const Arguments& args, const PhiloxStream& stream) {
  const double low = args.Number("low"), high = args.Number("high"), range = high - low;
  Numbers<double> values(static_cast<size_t>(Size(args.Shape("tensor"))));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = stream.Unit53(2 * stream.Number(i)) * range;
    values[i] += low;
    if (low < high && values[i] >= high) values[i] = std::nextafter(high, -INFINITY);
  }
  Results results;
  Append(results, std::move(values), args.Shape("tensor"));
  return results;
}

static Results RunPhiloxUniform(const Case& test_case) {
  const Arguments args(test_case);
  const PhiloxStream stream(args);
  if (args.Type("tensor") == DType::kFloat64) return RunPhiloxUniformDouble(args, stream);
  const float low = static_cast<float>(args.Number("low")), high = static_cast<float>(args.Number("high"));
  const float range = high - low;
  const Results rounded = Filled(args, stream, [&](uint64_t n) { return std::fma(stream.Unit(n), range, low); });
  if (low == high) return rounded;
  // The largest number of the type below high: what rounding toward minus infinity makes of the float below high.
  const Format& format = FormatOf(args.Type("tensor"));
  mpfr_t below;
  mpfr_init2(below, format.precision);
  const mpfr_exp_t emin = mpfr_get_emin(), emax = mpfr_get_emax();
  mpfr_set_emin(format.emin);
  mpfr_set_emax(format.emax);
  const int ternary = mpfr_set_d(below, std::nextafter(high, -INFINITY), MPFR_RNDD);
  mpfr_subnormalize(below, ternary, MPFR_RNDD);
  mpfr_set_emin(emin);
  mpfr_set_emax(emax);
  const float highest = static_cast<float>(mpfr_get_d(below, MPFR_RNDN));
  mpfr_clear(below);
  return Filled(args, stream, [&](uint64_t n) {
    const float value = std::fma(stream.Unit(n), range, low);
    return value < highest ? value : highest;
  });
}

/// Element n of philox_normal.
static float Normal(const Arguments& args, const PhiloxStream& stream, uint64_t n) {
  const float mean = static_cast<float>(args.Number("mean")), std = static_cast<float>(args.Number("std"));
  const uint64_t even = n - n % 2;
  const float log = Log(stream.OpenUnit(even));
  const float radius = std::sqrt(log * -2.0f);
  const float angle = 2.0f * stream.Unit(even + 1);
  const float z = radius * (n % 2 == 0 ? CosPi(angle) : SinPi(angle));
  return std::fma(std, z, mean);
}

static Results RunPhiloxNormal(const Case& test_case) {
  const Arguments args(test_case);
  const PhiloxStream stream(args);
  return Filled(args, stream, [&](uint64_t n) { return Normal(args, stream, n); });
}

static Results RunPhiloxLogNormal(const Case& test_case) {
  const Arguments args(test_case);
  const PhiloxStream stream(args);
  return Filled(args, stream, [&](uint64_t n) { return Exp(Normal(args, stream, n)); });
}

static Results RunPhiloxCauchy(const Case& test_case) {
  const Arguments args(test_case);
  const PhiloxStream stream(args);
  const float median = static_cast<float>(args.Number("median")), sigma = static_cast<float>(args.Number("sigma"));
  return Filled(args, stream, [&](uint64_t n) {
    const double a = std::ldexp(2.0 * (stream.Word(n) / 512) + 1.0, -24) - 0.5;
    const float turns = static_cast<float>(a);
    const float ratio = SinPi(turns) / CosPi(turns);
    const float scaled = sigma * ratio;
    return median + scaled;
  });
}

static Results RunPhiloxGeometric(const Case& test_case) {
  const Arguments args(test_case);
  const PhiloxStream stream(args);
  const float rate = -Of("log1p", -static_cast<float>(args.Number("p")));
  const float highest = args.Has("highest") ? static_cast<float>(args.Number("highest")) : INFINITY;
  return Filled(args, stream, [&](uint64_t n) {
    const float trials = std::ceil(-Log(stream.OpenUnit(n)) / rate);
    return std::fmin(std::fmax(trials, 1.0f), highest);
  });
}

static Results RunPhiloxBernoulli(const Case& test_case) {
  const Arguments args(test_case);
  const PhiloxStream stream(args);
  const double p = args.Number("p");
  return Filled(args, stream, [&](uint64_t n) { return stream.Bernoulli(n, p); });
}

static Results RunPhiloxExponential(const Case& test_case) {
  const Arguments args(test_case);
  const PhiloxStream stream(args);
  const float lambd = static_cast<float>(args.Number("lambd"));
  return Filled(args, stream, [&](uint64_t n) { return -Log(stream.OpenUnit(n)) / lambd; });
}

/// Indices in the order of the keys, which `before` compares; of equal ones in their own order.
template <class Before>
static Indices Ordered(size_t count, const Before& before) {
  Indices order(count);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), before);
  return order;
}

static Results RunPhiloxRandperm(const Case& test_case) {
  const Arguments args(test_case);
  const PhiloxStream stream(args, 0);
  std::vector<uint64_t> keys(static_cast<size_t>(Size(args.Shape("tensor"))));
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = stream.Word64(i);
  Results results;
  Append(results, Ordered(keys.size(), [&](int64_t i, int64_t j) { return keys[i] < keys[j]; }), args.Shape("tensor"));
  return results;
}

/// One of the indices of a row by its weights divided by the largest: by integers, the number of the output being given.
static int64_t OneOf(const Numbers<double>& quotients, const PhiloxStream& stream, uint64_t number) {
  int digits = 0;
  for (size_t n = quotients.size(); n > 0; n /= 2) ++digits;
  mpz_t total, share, sum;
  mpz_inits(total, share, sum, nullptr);
  std::vector<uint64_t> integers;
  for (const double quotient : quotients) {
    const double scaled = std::floor(std::ldexp(quotient, 62 - digits));
    integers.push_back(std::signbit(quotient) ? 0 : static_cast<uint64_t>(std::fmax(scaled, 1.0)));
    mpz_add_ui(total, total, integers.back());
  }
  mpz_mul_ui(share, total, stream.Word64(number) >> 2);
  mpz_fdiv_q_2exp(share, share, 62);
  size_t index = 0;
  for (mpz_set_ui(sum, integers[0]); mpz_cmp(share, sum) >= 0; mpz_add_ui(sum, sum, integers[index])) ++index;
  mpz_clears(total, share, sum, nullptr);
  return static_cast<int64_t>(index);
}

template <class T>
static Results RunPhiloxMultinomial(const Case& test_case) {
  const Arguments args(test_case);
  const PhiloxStream stream(args);
  const Numbers<T> weights = args.NumbersOf<T>("weights");
  const IntList shape = args.Shape("weights");
  const auto n = static_cast<size_t>(shape[shape.size() - 1]);
  const auto count = static_cast<size_t>(args.Int("num_samples"));
  Indices indices;
  for (size_t row = 0; row < static_cast<size_t>(Size(args.OutputShape())) / count; ++row) {
    Numbers<double> quotients(weights.begin() + row * n, weights.begin() + (row + 1) * n);
    const double largest = *std::max_element(quotients.begin(), quotients.end());
    // A weight of 0 becomes -0, as what is above 0 never does.
    for (double& x : quotients) x = x > 0 ? x / largest : -0.0;
    if (args.Flag("replacement")) {
      for (size_t i = 0; i < count; ++i) indices.push_back(OneOf(quotients, stream, stream.Number(row * count + i)));
      continue;
    }
    Floats scores(n);
    for (size_t j = 0; j < n; ++j) {
      const float time = -Log(stream.OpenUnit(stream.Number(row * n + j)));
      scores[j] = std::signbit(quotients[j]) ? -1.0f : static_cast<float>(quotients[j]) / time;
    }
    const Indices order = Ordered(n, [&](int64_t i, int64_t j) { return scores[i] > scores[j]; });
    indices.insert(indices.end(), order.begin(), order.begin() + static_cast<int64_t>(count));
  }
  Results results;
  Append(results, std::move(indices), args.OutputShape());
  return results;
}

static const Op kOps[] = {
    {"philox_multinomial", REPDL_EITHER(RunPhiloxMultinomial)},
    {"philox_randperm", RunPhiloxRandperm},
    {"philox_bernoulli", RunPhiloxBernoulli},
    {"philox_bits", RunPhiloxBits},
    {"philox_cauchy", RunPhiloxCauchy},
    {"philox_geometric", RunPhiloxGeometric},
    {"philox_log_normal", RunPhiloxLogNormal},
    {"philox_exponential", RunPhiloxExponential},
    {"philox_normal", RunPhiloxNormal},
    {"philox_randint", RunPhiloxRandint},
    {"philox_uniform", RunPhiloxUniform},
};

}  // namespace repdl::reference

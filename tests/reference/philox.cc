// SPDX-License-Identifier: MIT
#include "philox.h"

#include <gmp.h>

#include <array>
#include <cmath>

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

float Unit(uint32_t word) { return std::ldexp(static_cast<float>(word / 256), -24); }

float OpenUnit(uint32_t word) {
  const float value = static_cast<float>(std::ldexp(static_cast<double>(word) + 1.0, -32));
  return value < 1.0f ? value : 1.0f - 0x1p-24f;
}

float SinPi(float x) { return Rounded(*FindFunction("sinpi"), x); }

float CosPi(float x) { return Rounded(*FindFunction("cospi"), x); }

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

PhiloxStream::PhiloxStream(const Arguments& args)
    : seed_(static_cast<uint64_t>(args.Int("seed"))),
      call_(static_cast<uint64_t>(args.Int("call"))),
      offset_(static_cast<uint64_t>(args.Int("offset"))) {}

uint32_t PhiloxStream::Word(uint64_t number) const {
  const uint64_t block = number / 4;
  const Words words = Philox({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32),
                              static_cast<uint32_t>(call_), static_cast<uint32_t>(call_ >> 32)},
                             static_cast<uint32_t>(seed_), static_cast<uint32_t>(seed_ >> 32));
  return words[number % 4];
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

static Results RunPhiloxUniform(const Case& test_case) {
  const Arguments args(test_case);
  const PhiloxStream stream(args);
  const float low = static_cast<float>(args.Number("low")), high = static_cast<float>(args.Number("high"));
  const float range = high - low;
  const Results rounded = Filled(args, stream, [&](uint64_t n) { return std::fma(Unit(stream.Word(n)), range, low); });
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
    const float value = std::fma(Unit(stream.Word(n)), range, low);
    return value < highest ? value : highest;
  });
}

static Results RunPhiloxNormal(const Case& test_case) {
  const Arguments args(test_case);
  const PhiloxStream stream(args);
  const float mean = static_cast<float>(args.Number("mean")), std = static_cast<float>(args.Number("std"));
  return Filled(args, stream, [&](uint64_t n) {
    const uint64_t even = n - n % 2;
    const float log = Log(OpenUnit(stream.Word(even)));
    const float radius = std::sqrt(log * -2.0f);
    const float angle = 2.0f * Unit(stream.Word(even + 1));
    const float z = radius * (n % 2 == 0 ? CosPi(angle) : SinPi(angle));
    return std::fma(std, z, mean);
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
  return Filled(args, stream, [&](uint64_t n) { return -Log(OpenUnit(stream.Word(n))) / lambd; });
}

static const Op kOps[] = {
    {"philox_bernoulli", RunPhiloxBernoulli},     {"philox_bits", RunPhiloxBits},
    {"philox_exponential", RunPhiloxExponential}, {"philox_normal", RunPhiloxNormal},
    {"philox_randint", RunPhiloxRandint},         {"philox_uniform", RunPhiloxUniform},
};

}  // namespace repdl::reference

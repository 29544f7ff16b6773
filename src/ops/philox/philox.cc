// SPDX-License-Identifier: MIT
#include "repdl/ops/philox.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "numerics/lanes/scalar.h"
#include "ops/philox/philox_counts_kernel.h"
#include "ops/philox/philox_distributions_kernel.h"
#include "ops/philox/philox_gamma_kernel.h"
#include "ops/philox/philox_multinomial_kernel.h"
#include "ops/philox/philox_randperm_kernel.h"
#include "repdl/overlap.h"

namespace repdl {
namespace {

constexpr DTypes kInt64Only = {DType::kInt64};

void CheckFilled(std::string_view op, const TensorView& tensor, int64_t offset) {
  REPDL_CHECK(!ElementsOverlap(tensor.shape, tensor.strides), ArgName{op, "tensor"},
              " has elements that share memory; fill one without, such as its .contiguous()");
  CheckPhiloxOffset(op, offset, tensor.numel());
}

PhiloxArgs MakePhiloxArgs(const TensorView& tensor, int64_t seed, int64_t call, int64_t offset) {
  return {MakeMapArgs({&tensor}, tensor), PhiloxStream(seed, call, offset)};
}

Specs InferIntegers(std::string_view op, const TensorView& tensor, int64_t offset) {
  CheckDType({op, "tensor"}, tensor, DType::kInt64);
  CheckFilled(op, tensor, offset);
  return {};
}

Specs InferFloats(std::string_view op, const TensorView& tensor, int64_t offset) {
  CheckFloating({op, "tensor"}, tensor);
  CheckFilled(op, tensor, offset);
  return {};
}

/// The largest number below x, x finite.
double NextBelow(double x) {
  if (x == 0.0) return -std::numeric_limits<double>::denorm_min();
  const auto bits = std::bit_cast<int64_t>(x);
  return std::bit_cast<double>(x > 0.0 ? bits - 1 : bits + 1);
}

/// The largest number of the type below x, x finite.
float NextBelow(DType dtype, float x) {
  const bool is_float = dtype == DType::kFloat32;
  const auto widened = [&](int32_t bits) {
    return is_float                    ? std::bit_cast<float>(bits)
           : dtype == DType::kBFloat16 ? scalar::WidenBFloat16(bits)
                                       : scalar::WidenFloat16(bits);
  };
  int32_t bits = is_float                    ? std::bit_cast<int32_t>(x)
                 : dtype == DType::kBFloat16 ? scalar::NarrowBFloat16(x) & 0xffff
                                             : scalar::NarrowFloat16(x) & 0xffff;
  const float value = widened(bits);
  if (value < x) return value;
  if (value == 0.0f) return -widened(1);
  return widened(value > 0.0f ? bits - 1 : bits + 1);
}

}  // namespace

Specs InferPhiloxBits(const InOut& tensor, int64_t, int64_t, int64_t offset) {
  return InferIntegers("philox_bits", tensor, offset);
}

void PhiloxBits(InOut tensor, int64_t seed, int64_t call, int64_t offset) {
  InferPhiloxBits(tensor, seed, call, offset);
  const Place place = PlaceOf("philox_bits", tensor);
  if (tensor.numel() == 0) return;
  PhiloxBitsKernel(place, {MakePhiloxArgs(tensor, seed, call, offset), {}});
}

Specs InferPhiloxRandint(const InOut& tensor, int64_t, int64_t, int64_t first, int64_t last, int64_t offset) {
  REPDL_CHECK(first <= last, ArgName{"philox_randint", "first"}, " ", first, " must not be above last, ", last);
  return InferIntegers("philox_randint", tensor, offset);
}

Specs InferPhiloxRandperm(const InOut& tensor, int64_t, int64_t) {
  CheckRank({"philox_randperm", "tensor"}, tensor, 1, 1, "(n)");
  return InferIntegers("philox_randperm", tensor, 0);
}

void PhiloxRandint(InOut tensor, int64_t seed, int64_t call, int64_t first, int64_t last, int64_t offset) {
  InferPhiloxRandint(tensor, seed, call, first, last, offset);
  const Place place = PlaceOf("philox_randint", tensor);
  if (tensor.numel() == 0) return;
  const auto from = static_cast<uint64_t>(first);
  PhiloxRandintKernel(place, {MakePhiloxArgs(tensor, seed, call, offset),
                              {.first = from, .count = static_cast<uint64_t>(last) - from + 1}});
}

Specs InferPhiloxUniform(const InOut& tensor, int64_t, int64_t, double low, double high, int64_t offset) {
  REPDL_CHECK(low <= high, ArgName{"philox_uniform", "low"}, " ", low, " must not be above high, ", high);
  const bool is_double = tensor.dtype == DType::kFloat64;
  const double range = is_double ? high - low : static_cast<float>(high) - static_cast<float>(low);
  REPDL_CHECK(std::isfinite(range), ArgName{"philox_uniform", "high"}, " ", high, " must lie within the range of ",
              is_double ? "float64" : "float32", " from low, ", low);
  return InferFloats("philox_uniform", tensor, offset);
}

void PhiloxUniform(InOut tensor, int64_t seed, int64_t call, double low, double high, int64_t offset) {
  const FpEnvGuard guard;
  InferPhiloxUniform(tensor, seed, call, low, high, offset);
  const Place place = PlaceOf("philox_uniform", tensor);
  if (tensor.numel() == 0) return;
  if (tensor.dtype == DType::kFloat64) {
    PhiloxUniformDoubleKernel(place,
                              {MakePhiloxArgs(tensor, seed, call, offset),
                               {.low = low, .range = high - low, .highest = low < high ? NextBelow(high) : high}});
    return;
  }
  const auto from = static_cast<float>(low), to = static_cast<float>(high);
  PhiloxUniformKernel(place,
                      {MakePhiloxArgs(tensor, seed, call, offset),
                       {.low = from, .range = to - from, .highest = from < to ? NextBelow(tensor.dtype, to) : to}});
}

Specs InferPhiloxNormal(const InOut& tensor, int64_t, int64_t, double, double std, int64_t offset) {
  REPDL_CHECK(std >= 0.0, ArgName{"philox_normal", "std"}, " must not be negative, got ", std);
  return InferFloats("philox_normal", tensor, offset);
}

void PhiloxNormal(InOut tensor, int64_t seed, int64_t call, double mean, double std, int64_t offset) {
  const FpEnvGuard guard;
  InferPhiloxNormal(tensor, seed, call, mean, std, offset);
  const Place place = PlaceOf("philox_normal", tensor);
  if (tensor.numel() == 0) return;
  PhiloxNormalKernel(place, {MakePhiloxArgs(tensor, seed, call, offset),
                             {.mean = static_cast<float>(mean), .std = static_cast<float>(std)}});
}

Specs InferPhiloxBernoulli(const InOut& tensor, int64_t, int64_t, double p, int64_t offset) {
  REPDL_CHECK(p >= 0.0 && p <= 1.0, ArgName{"philox_bernoulli", "p"}, " must be between 0 and 1, got ", p);
  return InferFloats("philox_bernoulli", tensor, offset);
}

void PhiloxBernoulli(InOut tensor, int64_t seed, int64_t call, double p, int64_t offset) {
  const FpEnvGuard guard;
  InferPhiloxBernoulli(tensor, seed, call, p, offset);
  const Place place = PlaceOf("philox_bernoulli", tensor);
  if (tensor.numel() == 0) return;
  PhiloxBernoulliKernel(place, {MakePhiloxArgs(tensor, seed, call, offset), MakePhiloxBernoulliConstants(p)});
}

Specs InferPhiloxExponential(const InOut& tensor, int64_t, int64_t, double lambd, int64_t offset) {
  REPDL_CHECK(static_cast<float>(lambd) > 0.0f, ArgName{"philox_exponential", "lambd"}, " must be above 0, got ",
              lambd);
  return InferFloats("philox_exponential", tensor, offset);
}

void PhiloxExponential(InOut tensor, int64_t seed, int64_t call, double lambd, int64_t offset) {
  const FpEnvGuard guard;
  InferPhiloxExponential(tensor, seed, call, lambd, offset);
  const Place place = PlaceOf("philox_exponential", tensor);
  if (tensor.numel() == 0) return;
  PhiloxExponentialKernel(place, {MakePhiloxArgs(tensor, seed, call, offset), {.lambd = static_cast<float>(lambd)}});
}

Specs InferPhiloxLogNormal(const InOut& tensor, int64_t, int64_t, double, double std, int64_t offset) {
  REPDL_CHECK(std >= 0.0, ArgName{"philox_log_normal", "std"}, " must not be negative, got ", std);
  return InferFloats("philox_log_normal", tensor, offset);
}

void PhiloxLogNormal(InOut tensor, int64_t seed, int64_t call, double mean, double std, int64_t offset) {
  const FpEnvGuard guard;
  InferPhiloxLogNormal(tensor, seed, call, mean, std, offset);
  const Place place = PlaceOf("philox_log_normal", tensor);
  if (tensor.numel() == 0) return;
  PhiloxLogNormalKernel(place, {MakePhiloxArgs(tensor, seed, call, offset),
                                {.mean = static_cast<float>(mean), .std = static_cast<float>(std)}});
}

Specs InferPhiloxCauchy(const InOut& tensor, int64_t, int64_t, double, double sigma, int64_t offset) {
  REPDL_CHECK(sigma > 0.0, ArgName{"philox_cauchy", "sigma"}, " must be above 0, got ", sigma);
  return InferFloats("philox_cauchy", tensor, offset);
}

void PhiloxCauchy(InOut tensor, int64_t seed, int64_t call, double median, double sigma, int64_t offset) {
  const FpEnvGuard guard;
  InferPhiloxCauchy(tensor, seed, call, median, sigma, offset);
  const Place place = PlaceOf("philox_cauchy", tensor);
  if (tensor.numel() == 0) return;
  PhiloxCauchyKernel(place, {MakePhiloxArgs(tensor, seed, call, offset),
                             {.median = static_cast<float>(median), .sigma = static_cast<float>(sigma)}});
}

Specs InferPhiloxGeometric(const InOut& tensor, int64_t, int64_t, double p, std::optional<double> highest,
                           int64_t offset) {
  // Above 2^-150, so that the nearest float is not 0, whatever the caller's mode makes of small floats.
  REPDL_CHECK(p < 1.0 && p > 0x1p-150, ArgName{"philox_geometric", "p"}, " must be between 0 and 1, got ", p);
  REPDL_CHECK(!highest || *highest >= 1.0, ArgName{"philox_geometric", "highest"}, " must be at least 1, got ",
              *highest);
  return InferFloats("philox_geometric", tensor, offset);
}

void PhiloxGeometric(InOut tensor, int64_t seed, int64_t call, double p, std::optional<double> highest,
                     int64_t offset) {
  const FpEnvGuard guard;
  InferPhiloxGeometric(tensor, seed, call, p, highest, offset);
  const Place place = PlaceOf("philox_geometric", tensor);
  if (tensor.numel() == 0) return;
  const double most = highest.value_or(std::numeric_limits<double>::infinity());
  PhiloxGeometricKernel(place, {MakePhiloxArgs(tensor, seed, call, offset),
                                {.p = static_cast<float>(p), .highest = static_cast<float>(most)}});
}

}  // namespace repdl

REPDL_OPS(philox,
          MakeOp<InferPhiloxBinomial, PhiloxBinomial, PhiloxBinomialKernel>("philox_binomial",
                                                                            "count, prob, seed, call, offset=0",
                                                                            kUpToFloat64),
          MakeOp<InferPhiloxPoisson, PhiloxPoisson, PhiloxPoissonKernel>("philox_poisson", "rate, seed, call, offset=0",
                                                                         kUpToFloat64),
          MakeOp<InferPhiloxGamma, PhiloxGamma, PhiloxGammaKernel>("philox_gamma", "alpha, seed, call, offset=0",
                                                                   kUpToFloat64),
          MakeOp<InferPhiloxMultinomial, PhiloxMultinomial, PhiloxMultinomialKernel, PhiloxRandintKernel,
                 PhiloxExponentialKernel>("philox_multinomial",
                                          "weights, num_samples, replacement, seed, call, offset=0", kUpToFloat64),
          MakeOp<InferPhiloxRandperm, PhiloxRandperm, PhiloxRandpermKernel, PhiloxRandintKernel>("philox_randperm",
                                                                                                 "tensor, seed, call",
                                                                                                 kInt64Only),
          MakeOp<InferPhiloxBernoulli, PhiloxBernoulli, PhiloxBernoulliKernel>("philox_bernoulli",
                                                                               "tensor, seed, call, p=0.5, offset=0",
                                                                               kUpToFloat32),
          MakeOp<InferPhiloxBits, PhiloxBits, PhiloxBitsKernel>("philox_bits", "tensor, seed, call, offset=0",
                                                                kInt64Only),
          MakeOp<InferPhiloxCauchy, PhiloxCauchy, PhiloxCauchyKernel>(
              "philox_cauchy", "tensor, seed, call, median=0.0, sigma=1.0, offset=0", kUpToFloat32),
          MakeOp<InferPhiloxExponential, PhiloxExponential, PhiloxExponentialKernel>(
              "philox_exponential", "tensor, seed, call, lambd=1.0, offset=0", kUpToFloat32),
          MakeOp<InferPhiloxGeometric, PhiloxGeometric, PhiloxGeometricKernel>(
              "philox_geometric", "tensor, seed, call, p=0.5, highest=None, offset=0", kUpToFloat32),
          MakeOp<InferPhiloxLogNormal, PhiloxLogNormal, PhiloxLogNormalKernel>(
              "philox_log_normal", "tensor, seed, call, mean=1.0, std=2.0, offset=0", kUpToFloat32),
          MakeOp<InferPhiloxNormal, PhiloxNormal, PhiloxNormalKernel>("philox_normal",
                                                                      "tensor, seed, call, mean=0.0, std=1.0, offset=0",
                                                                      kUpToFloat32),
          MakeOp<InferPhiloxRandint, PhiloxRandint, PhiloxRandintKernel>("philox_randint",
                                                                         "tensor, seed, call, first, last, offset=0",
                                                                         kInt64Only),
          MakeOp<InferPhiloxUniform, PhiloxUniform, PhiloxUniformKernel, PhiloxUniformDoubleKernel>(
              "philox_uniform", "tensor, seed, call, low=0.0, high=1.0, offset=0", kUpToFloat64))

// SPDX-License-Identifier: MIT
#include "expected.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <string>

#include "base/parallel.h"

namespace repdl::prove {
namespace {

/// The exact value, to 128 bits, without a bound on the exponent.
class Exact {
 public:
  Exact(const reference::Function& function, float x, float y) {
    mpfr_inits2(128, x_, y_, value_, nullptr);
    mpfr_set_flt(x_, x, MPFR_RNDN);
    mpfr_set_flt(y_, y, MPFR_RNDN);
    function.exact(value_, x_, y_);
  }
  ~Exact() { mpfr_clears(x_, y_, value_, nullptr); }
  Exact(const Exact&) = delete;
  Exact& operator=(const Exact&) = delete;

  mpfr_srcptr get() const { return value_; }

  /// How far from the middle between two float32 numbers, in units of the last place.
  double FromMiddle() const {
    mpfr_t fraction;
    mpfr_init2(fraction, 128);
    mpfr_mul_2si(fraction, value_, 24 - mpfr_get_exp(value_), MPFR_RNDN);
    mpfr_frac(fraction, fraction, MPFR_RNDN);
    mpfr_abs(fraction, fraction, MPFR_RNDN);
    mpfr_sub_d(fraction, fraction, 0.5, MPFR_RNDN);
    const double distance = mpfr_get_d(fraction, MPFR_RNDN);
    mpfr_clear(fraction);
    return std::fabs(distance);
  }

 private:
  mpfr_t x_, y_, value_;
};

}  // namespace

Expected::Expected(const reference::Function& function, DType dtype, int64_t num_inputs, int64_t checks)
    : function_(function),
      filter_(FindFilter(function.name)),
      format_(function.kind == reference::Function::Kind::kUnary ? reference::FormatOf(dtype) : reference::kFloat32),
      dtype_(dtype),
      check_every_(std::max<int64_t>(1, num_inputs / std::max<int64_t>(1, checks))) {}

void Expected::Get(const Batch& batch, int64_t begin, std::vector<uint32_t>& bits) {
  constexpr int64_t kRun = 1024;
  const bool binary = filter_.binary != nullptr;
  const reference::Format& last = reference::FormatOf(dtype_);
  bits.resize(batch.first.size());
  ParallelRanges(batch.size(), 4 * kRun, [&](int64_t from, int64_t to) {
    float x[kRun], y[kRun] = {}, results[kRun];
    double values[kRun];
    bool decided[kRun];
    for (int64_t run = from; run < to; run += kRun) {
      const int64_t n = std::min(kRun, to - run);
      for (int64_t i = 0; i < n; ++i) x[i] = ValueOf(batch.first[run + i], dtype_);
      if (binary) {
        for (int64_t i = 0; i < n; ++i) y[i] = ValueOf(batch.second[run + i], dtype_);
        for (int64_t i = 0; i < n; ++i) values[i] = filter_.binary(x[i], y[i]);
      } else {
        for (int64_t i = 0; i < n; ++i) values[i] = filter_.unary(x[i]);
      }
      if (&format_ == &reference::kFloat32) {
        DecideAll(values, n, results, decided);
      } else {
        for (int64_t i = 0; i < n; ++i) decided[i] = Decides(values[i], format_, results[i]);
      }
      for (int64_t i = 0; i < n; ++i) {
        if (!decided[i]) results[i] = reference::Rounded(function_, x[i], y[i], format_);
        if (!decided[i] || (begin + run + i) % check_every_ == 0) {
          Check(batch.first[run + i], x[i], y[i], values[i], results[i], decided[i]);
        }
      }
      if (dtype_ == DType::kFloat32) {
        for (int64_t i = 0; i < n; ++i) bits[run + i] = CanonicalBits(results[i]);
      } else {
        for (int64_t i = 0; i < n; ++i) bits[run + i] = CanonicalBits(RoundTo(results[i], last));
      }
    }
  });
}

void Expected::Check(uint32_t input, float x, float y, double value, float result, bool decided) {
  const Exact exact(function_, x, y);
  ++checked_;
  if (!IsWithinBound(value, exact.get()) && bad_.fetch_add(1) < 5) {
    const std::lock_guard<std::mutex> lock(mutex_);
    mpfr_printf("%s(%a, %a): the filter says %a, MPFR %.24Ra\n", std::string(function_.name).c_str(),
                static_cast<double>(x), static_cast<double>(y), value, exact.get());
  }
  if (decided) return;
  ++asked_;
  if (filter_.binary != nullptr || dtype_ != DType::kFloat32 || !std::isnormal(result)) return;
  const double distance = exact.FromMiddle();
  if (distance == 0 || distance > 0x1p-18) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  hard_.push_back({input, CanonicalBits(result), distance});
}

std::vector<Expected::HardCase> Expected::Hardest(size_t count) {
  count = std::min(count, hard_.size());
  std::ranges::sort(hard_, [](const HardCase& a, const HardCase& b) {
    return a.distance < b.distance || (a.distance == b.distance && a.input < b.input);
  });
  return {hard_.begin(), hard_.begin() + static_cast<std::ptrdiff_t>(count)};
}

}  // namespace repdl::prove

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

uint32_t CanonicalBits(float x) { return std::isnan(x) ? 0x7fc00000 : std::bit_cast<uint32_t>(x); }

Expected::Expected(const reference::Function& function, DType dtype, int64_t num_inputs, int64_t checks)
    : function_(function),
      filter_(FindFilter(function.name)),
      format_(function.kind == reference::Function::Kind::kUnary ? reference::FormatOf(dtype) : reference::kFloat32),
      dtype_(dtype),
      check_every_(std::max<int64_t>(1, num_inputs / std::max<int64_t>(1, checks))) {}

void Expected::Get(const Batch& batch, int64_t begin, std::vector<uint32_t>& bits) {
  const bool binary = filter_.binary != nullptr;
  bits.resize(batch.first.size());
  ParallelRanges(batch.size(), 256, [&](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i) {
      const float x = ValueOf(batch.first[i], dtype_);
      const float y = binary ? ValueOf(batch.second[i], dtype_) : 0.0f;
      const double value = binary ? filter_.binary(x, y) : filter_.unary(x);
      float result;
      const bool decided = Decides(value, format_, result);
      if (!decided) result = reference::Rounded(function_, x, y, format_);
      bits[i] = CanonicalBits(RoundTo(result, reference::FormatOf(dtype_)));
      if (decided && (begin + i) % check_every_ != 0) continue;

      const Exact exact(function_, x, y);
      ++checked_;
      if (!IsWithinBound(value, exact.get()) && bad_.fetch_add(1) < 5) {
        const std::lock_guard<std::mutex> lock(mutex_);
        mpfr_printf("%s(%a, %a): the filter says %a, MPFR %.24Ra\n", std::string(function_.name).c_str(),
                    static_cast<double>(x), static_cast<double>(y), value, exact.get());
      }
      if (decided) continue;
      ++asked_;
      if (binary || dtype_ != DType::kFloat32 || !std::isnormal(result)) continue;
      const double distance = exact.FromMiddle();
      if (distance == 0 || distance > 0x1p-18) continue;
      const std::lock_guard<std::mutex> lock(mutex_);
      hard_.push_back({batch.first[i], bits[i], distance});
    }
  });
}

std::vector<Expected::HardCase> Expected::Hardest(size_t count) {
  count = std::min(count, hard_.size());
  std::ranges::sort(hard_, [](const HardCase& a, const HardCase& b) {
    return a.distance < b.distance || (a.distance == b.distance && a.input < b.input);
  });
  return {hard_.begin(), hard_.begin() + static_cast<std::ptrdiff_t>(count)};
}

}  // namespace repdl::prove

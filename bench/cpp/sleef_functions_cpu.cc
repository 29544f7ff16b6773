// SPDX-License-Identifier: MIT
#include <hwy/highway.h>
#include <sleef.h>

#include "sleef_functions.h"

#if HWY_TARGET <= HWY_AVX3
#define SLEEF(name, accuracy) Sleef_##name##f16_##accuracy
#elif HWY_TARGET <= HWY_AVX2
#define SLEEF(name, accuracy) Sleef_##name##f8_##accuracy
#else
#define SLEEF(name, accuracy) Sleef_##name##f4_##accuracy
#endif

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

void FindSleefFunctions(const SleefQuery&) {}

#else

namespace hn = hwy::HWY_NAMESPACE;
constexpr hn::ScalableTag<float> kTag;
using SleefVec = hn::Vec<decltype(kTag)>;

template <auto kFunction>
void RunUnary(const float* x, const float*, float* out, int64_t n) {
  for (int64_t i = 0; i < n; i += HWY_LANES(float)) {
    hn::StoreU(SleefVec{kFunction(hn::LoadU(kTag, x + i).raw)}, kTag, out + i);
  }
}

template <auto kFunction>
void RunBinary(const float* x, const float* y, float* out, int64_t n) {
  for (int64_t i = 0; i < n; i += HWY_LANES(float)) {
    hn::StoreU(SleefVec{kFunction(hn::LoadU(kTag, x + i).raw, hn::LoadU(kTag, y + i).raw)}, kTag, out + i);
  }
}

#define UNARY(name, accuracy) {#name, RunUnary<SLEEF(name, accuracy)>}
#define BINARY(name, accuracy) {#name, RunBinary<SLEEF(name, accuracy)>}
constexpr SleefFunction kFunctions[] = {
    UNARY(acos, u10),  UNARY(acosh, u10), UNARY(asin, u10),   UNARY(asinh, u10),  UNARY(atan, u10),  UNARY(atanh, u10),
    UNARY(cbrt, u10),  UNARY(cos, u10),   UNARY(cosh, u10),   UNARY(cospi, u05),  UNARY(erf, u10),   UNARY(erfc, u15),
    UNARY(exp, u10),   UNARY(exp10, u10), UNARY(exp2, u10),   UNARY(expm1, u10),  UNARY(log, u10),   UNARY(log10, u10),
    UNARY(log1p, u10), UNARY(log2, u10),  UNARY(sin, u10),    UNARY(sinh, u10),   UNARY(sinpi, u05), UNARY(sqrt, u05),
    UNARY(tan, u10),   UNARY(tanh, u10),  BINARY(atan2, u10), BINARY(hypot, u05), BINARY(pow, u10),
};
#undef UNARY
#undef BINARY

void FindSleefFunctions(const SleefQuery& query) { *query.functions = kFunctions; }

#endif

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

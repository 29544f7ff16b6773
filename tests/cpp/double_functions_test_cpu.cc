// SPDX-License-Identifier: MIT
#include "cpp/double_functions_probe.h"
#include "numerics/special_highway-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

template <class F>
HWY_NOINLINE void EachOf(const F& function, const DoubleFunctionProbe& args) {
  const hn::ScalableTag<double> d;
  for (int64_t i = 0; i < args.n; i += static_cast<int64_t>(hn::Lanes(d))) {
    const auto x = LoadU(d, args.x + i);
    if constexpr (requires { function(d, x); }) {
      StoreU(function(d, x), d, args.out + i);
    } else {
      StoreU(function(d, x, LoadU(d, args.y + i)), d, args.out + i);
    }
  }
}

void ProbeDoubleFunction(const DoubleFunctionProbe& args) {
  switch (args.function) {
#define DOUBLE_UNARY(op, Name) \
  case DoubleFunction::k##Name: return EachOf(Name##Double(), args);
#define DOUBLE_BINARY(op, Name) \
  case DoubleFunction::k##Name: return EachOf(Name##Double(), args);
#define DOUBLE_GRADIENT(Name, expression) DOUBLE_BINARY(, Name)
#include "cpp/double_functions.def"
#include "cpp/double_trig.def"
#undef DOUBLE_UNARY
#undef DOUBLE_BINARY
#undef DOUBLE_GRADIENT
  }
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

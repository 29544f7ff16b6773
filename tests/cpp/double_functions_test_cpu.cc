// SPDX-License-Identifier: MIT
#include "cpp/double_functions_probe.h"
#include "numerics/functions_highway-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

using DoubleTag = hn::ScalableTag<double>;

template <class F>
HWY_NOINLINE void EachUnary(const F& function, const DoubleFunctionProbe& args) {
  const DoubleTag d;
  for (int64_t i = 0; i < args.n; i += static_cast<int64_t>(hn::Lanes(d))) {
    StoreU(function(d, LoadU(d, args.x + i)), d, args.out + i);
  }
}

template <class F>
HWY_NOINLINE void EachBinary(const F& function, const DoubleFunctionProbe& args) {
  const DoubleTag d;
  for (int64_t i = 0; i < args.n; i += static_cast<int64_t>(hn::Lanes(d))) {
    StoreU(function(d, LoadU(d, args.x + i), LoadU(d, args.y + i)), d, args.out + i);
  }
}

void ProbeDoubleFunction(const DoubleFunctionProbe& args) {
  switch (args.function) {
#define DOUBLE_UNARY(op, Name) \
  case DoubleFunction::k##Name: return EachUnary(Name##Double(), args);
#define DOUBLE_BINARY(op, Name) \
  case DoubleFunction::k##Name: return EachBinary(Name##Double(), args);
#define DOUBLE_GRADIENT(Name, expression) DOUBLE_BINARY(, Name)
#include "cpp/double_functions.def"
#undef DOUBLE_UNARY
#undef DOUBLE_BINARY
#undef DOUBLE_GRADIENT
  }
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

// SPDX-License-Identifier: MIT
#include "cpp/lanes_probe.h"
#include "drivers/vector_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

void ProbeFma(const FmaProbe& args) {
  ForVectors(args.n, [&](int64_t i, int64_t count) HWY_ATTR {
    StoreN(Fma(LoadN(args.a + i, count), LoadN(args.b + i, count), LoadN(args.c + i, count)), args.out + i, count);
  });
}

void ProbeFmaDouble(const FmaDoubleProbe& args) {
  ForVectors<double>(args.n, [&](int64_t i, int64_t count) HWY_ATTR {
    StoreN(Fma(LoadN(args.a + i, count), LoadN(args.b + i, count), LoadN(args.c + i, count)), args.out + i, count);
  });
}

template <class T>
void Compare(const ComparisonProbe<T>& args) {
  ForVectors<T>(args.n, [&](int64_t i, int64_t count) HWY_ATTR {
    const TagOf<T> d;
    const VecOf<T> a = LoadN(args.a + i, count), b = LoadN(args.b + i, count);
    VecOf<T> sum = Zero(d);
    int bit = 1;
    const auto take = [&](MaskOf<T> is) HWY_ATTR {
      sum = Add(sum, IfThenElseZero(is, Set(d, static_cast<T>(bit))));
      bit *= 2;
    };
    take(Eq(a, b)), take(NotEq(a, b)), take(Lt(a, b)), take(Le(a, b)), take(Gt(a, b)), take(Ge(a, b)), take(IsNaN(a));
    StoreN<T>(sum, args.out + i, count);
  });
}

void ProbeComparisons(const FloatComparisonProbe& args) { Compare(args); }
void ProbeComparisonsOfDoubles(const DoubleComparisonProbe& args) { Compare(args); }

void ProbeTarget(const TargetProbe& args) {
  *args.lanes = kLanes;
  *args.highway_target = HWY_TARGET;
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

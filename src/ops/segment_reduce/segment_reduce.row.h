// SPDX-License-Identifier: MIT
// The steps of segment_reduce, in lane words; the contract stands in segment_reduce.h.

#include "drivers/add_step.lane.h"

struct MulStep {
  template <class V>
  REPDL_LANE V operator()(V product, V x) const {
    return Mul(product, x);
  }
};
/// Of equals the first stays, as does a NaN.
struct MaxStep {
  template <class V>
  REPDL_LANE V operator()(V largest, V x) const {
    const auto taken = Or(Gt(x, largest), IsNaN(x));
    return IfThenElse(taken, x, largest);
  }
};
struct MinStep {
  template <class V>
  REPDL_LANE V operator()(V smallest, V x) const {
    const auto taken = Or(Lt(x, smallest), IsNaN(x));
    return IfThenElse(taken, x, smallest);
  }
};

/// The gradients of the elements of a segment that lie `inner` apart, from that of its result, one number of each.
template <class T>
struct SegmentGradient {
  const SegmentArgs<T>& args;
  int64_t first, end;

  REPDL_LANE void operator()(T g, T result, const T* x, T* grad) const {
    switch (args.reduction) {
      case SegmentReduction::kSum: return Each(grad, [&](int64_t) { return g; });
      case SegmentReduction::kMean: {
        const T part = first < end ? Part(g, end - first) : g;
        return Each(grad, [&](int64_t) { return part; });
      }
      case SegmentReduction::kProd: return Factors(g, result, x, grad);
      default: return Chosen(g, result, x, grad);
    }
  }

 private:
  template <class F>
  REPDL_LANE void Each(T* grad, const F& f) const {
    for (int64_t i = first; i < end; ++i) grad[i * args.inner] = f(i * args.inner);
  }
  REPDL_LANE static T Part(T g, int64_t count) { return Div(g, static_cast<T>(count)); }

  REPDL_LANE void Chosen(T g, T result, const T* x, T* grad) const {
    const auto chosen = [&](int64_t at) { return x[at] != x[at] || x[at] == result; };
    int64_t count = 0;
    for (int64_t i = first; i < end; ++i) count += chosen(i * args.inner) ? 1 : 0;
    const T part = count > 1 && g > T{0} ? Part(g, count) : g;
    Each(grad, [&](int64_t at) { return chosen(at) ? part : T{0}; });
  }

  REPDL_LANE void Factors(T g, T result, const T* x, T* grad) const {
    Each(grad, [&](int64_t at) { return Factor(g, result, x, at); });
  }
  REPDL_LANE T Factor(T g, T result, const T* x, int64_t at) const {
    if (x[at] == x[at] && x[at] != T{0}) return Div(Mul(g, result), x[at]);
    T others = args.has_initial ? args.initial : T{1};
    for (int64_t i = first; i < end; ++i) {
      if (i * args.inner != at) others = Mul(others, x[i * args.inner]);
    }
    return Mul(g, others);
  }
};

// SPDX-License-Identifier: MIT
#include <algorithm>
#include <limits>

#include "base/parallel.h"
#include "drivers/vector_cpu-inl.h"
#include "numerics/lanes/one-inl.h"
#include "ops/segment_reduce/segment_reduce_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

#include "ops/segment_reduce/segment_reduce.row.h"

/// Steps that are worth a fork.
constexpr int64_t kGrain = 16384;

/// Calls body(plane, segment, first, end) for each segment.
template <class T, class Body>
HWY_INLINE void ForSegments(const SegmentArgs<T>& args, const Body& body) {
  const int64_t steps = args.length * args.inner / std::max<int64_t>(args.segments, 1) + 1;
  ParallelRanges(args.planes * args.segments, kGrain / steps + 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t plane = i / args.segments, k = i % args.segments;
      const int64_t* const offsets = args.offsets + plane * (args.segments + 1) + k;
      body(plane, i, offsets[0], offsets[1]);
    }
  });
}

template <class T, class Step>
void Reduce(const SegmentArgs<T>& args, const Step& step) {
  const TagOf<T> d;
  const bool means = args.reduction == SegmentReduction::kMean;
  const T start = args.First();
  ForSegments(args, [&](int64_t plane, int64_t segment, int64_t first, int64_t end) HWY_ATTR {
    const T* const from = args.input + plane * args.length * args.inner;
    T* const to = args.output + segment * args.inner;
    const bool empty = first == end;
    if (args.inner == 1) {
      hn::CappedTag<T, 1> one;
      auto total = Set(one, start);
      for (int64_t i = first; i < end; ++i) total = step(total, Set(one, from[i]));
      if (means && !empty) total = Div(total, Set(one, static_cast<T>(end - first)));
      *to = empty && means && !args.has_initial ? std::numeric_limits<T>::quiet_NaN() : hn::GetLane(total);
      return;
    }
    ForVectors<T>(args.inner, [&](int64_t c, int64_t count) HWY_ATTR {
      VecOf<T> total = Set(d, start);
      for (int64_t i = first; i < end; ++i) total = step(total, LoadN(from + i * args.inner + c, count));
      if (means && !empty) total = Div(total, Set(d, static_cast<T>(end - first)));
      if (means && empty && !args.has_initial) total = Set(d, std::numeric_limits<T>::quiet_NaN());
      StoreN<T>(total, to + c, count);
    });
  });
}

template <class T>
void ReduceAll(const SegmentArgs<T>& args) {
  switch (args.reduction) {
    case SegmentReduction::kProd: return Reduce(args, MulStep());
    case SegmentReduction::kMax: return Reduce(args, MaxStep());
    case SegmentReduction::kMin: return Reduce(args, MinStep());
    default: return Reduce(args, AddStep());
  }
}

template <class T>
void FillGradient(const SegmentArgs<T>& args) {
  std::fill(args.grad_input, args.grad_input + args.planes * args.length * args.inner, T{0});
  ForSegments(args, [&](int64_t plane, int64_t segment, int64_t first, int64_t end) {
    const SegmentGradient<T> gradient{args, first, end};
    const int64_t begin = plane * args.length * args.inner;
    for (int64_t c = 0; c < args.inner; ++c) {
      const int64_t at = segment * args.inner + c;
      gradient(args.grad_output[at], args.output[at], args.input + begin + c, args.grad_input + begin + c);
    }
  });
}

}  // namespace

void SegmentReduceKernel(const SegmentArgs<float>& args) { ReduceAll(args); }
void SegmentReduceKernel(const SegmentArgs<double>& args) { ReduceAll(args); }
void SegmentReduceGradKernel(const SegmentArgs<float>& args) { FillGradient(args); }
void SegmentReduceGradKernel(const SegmentArgs<double>& args) { FillGradient(args); }

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

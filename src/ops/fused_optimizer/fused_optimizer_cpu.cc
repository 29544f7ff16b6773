// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>

#include "base/parallel.h"
#include "drivers/narrow_cpu-inl.h"
#include "ops/fused_optimizer/fused_optimizer_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

#include "numerics/functions/maximum.lane.h"
#include "ops/fused_optimizer/fused_optimizer.lane.h"

/// Leaves float32 and float64 as they are.
struct Unrounded {
  template <class V>
  HWY_INLINE V operator()(V x) const {
    return x;
  }
};

/// Rounds floats to a type of 16 bits.
struct RoundedTo {
  DType dtype;
  HWY_INLINE Vec operator()(Vec x) const {
    const hn::RebindToSigned<FloatTag> di;
    if (dtype == DType::kBFloat16) return WidenBFloat16(NarrowBFloat16(x));
    return WidenFloat16(And(NarrowFloat16(x), Set(di, 0xffff)));
  }
};

/// step(round, v) changes a vector v[k] of each of the tensors; it has its constants within.
template <int kCount, class T, class Step>
HWY_INLINE void StepEach(const FusedTensors& tensors, const Step& step) {
  constexpr int kGradient = 1;
  constexpr int64_t kTogether = kCount <= 3 ? 4 : 2;
  const auto step_run = [&](T* const* x, int64_t n, const auto& round) HWY_ATTR {
    // Places and constants are variables of this function: behind each store, what is in memory would be read again.
    const Step own_step = step;
    std::array<T*, kCount> p;
    std::copy_n(x, kCount, p.begin());
    const auto step_vectors = [&]<int kVectors>(int64_t i, int64_t count, std::integral_constant<int, kVectors>)
                                  HWY_ATTR {
                                    VecElementOf<T> v[kVectors][kCount];
                                    for (int j = 0; j < kVectors; ++j) {
                                      for (int k = 0; k < kCount; ++k)
                                        v[j][k] = LoadN(p[k] + i + j * kLanesOf<T>, count, 1);
                                      own_step(round, v[j]);
                                    }
                                    for (int k = 0; k < kCount; ++k) {
                                      for (int j = 0; k != kGradient && j < kVectors; ++j)
                                        StoreN(v[j][k], p[k] + i + j * kLanesOf<T>, count);
                                    }
                                  };
    constexpr int64_t kRun = kTogether * kLanesOf<T>;
    int64_t begin = 0;
    for (; begin + kRun <= n; begin += kRun) {
      step_vectors(begin, kLanesOf<T>, std::integral_constant<int, kTogether>());
    }
    ForVectors<T>(n - begin, [&](int64_t i, int64_t count)
                                 HWY_ATTR { step_vectors(begin + i, count, std::integral_constant<int, 1>()); });
  };
  ParallelRanges(tensors.n, 8192, [&](int64_t begin, int64_t end) HWY_ATTR {
    T* x[kCount];
    if (tensors.dtype == kDTypeOf<T>) {
      for (int k = 0; k < kCount; ++k) x[k] = static_cast<T*>(tensors.data[k]) + begin;
      return step_run(x, end - begin, Unrounded());
    }
    if constexpr (std::is_same_v<T, float>) {
      constexpr int64_t kRun = 512;
      HWY_ALIGN float buffers[kCount][kRun];
      for (int64_t i = begin; i < end; i += kRun) {
        const int64_t n = std::min(kRun, end - i);
        for (int k = 0; k < kCount; ++k) {
          NumbersSideBySide(tensors.data[k], tensors.dtype, i, 1, n, buffers[k]);
          x[k] = buffers[k];
        }
        step_run(x, n, RoundedTo{tensors.dtype});
        for (int k = 0; k < kCount; ++k) {
          if (k != kGradient) NarrowTo(tensors.dtype, buffers[k], static_cast<uint16_t*>(tensors.data[k]) + i, n);
        }
      }
    }
  });
}

template <class T>
static void Adam(const FusedAdamArgs<T>& args) {
  const TagOf<T> d;
  using V = VecOf<T>;
  if (args.tensors.count == 4) {
    return StepEach<4, T>(args.tensors, [d, c = args.numbers](const auto& round, VecElementOf<T>* v) HWY_ATTR {
      V param = v[0], exp_avg = v[2], exp_avg_sq = v[3];
      FusedAdamElement(d, c, round, V(v[1]), param, exp_avg, exp_avg_sq, static_cast<V*>(nullptr));
      v[0] = param, v[2] = exp_avg, v[3] = exp_avg_sq;
    });
  }
  StepEach<5, T>(args.tensors, [d, c = args.numbers](const auto& round, VecElementOf<T>* v) HWY_ATTR {
    V param = v[0], exp_avg = v[2], exp_avg_sq = v[3], largest = v[4];
    FusedAdamElement(d, c, round, V(v[1]), param, exp_avg, exp_avg_sq, &largest);
    v[0] = param, v[2] = exp_avg, v[3] = exp_avg_sq, v[4] = largest;
  });
}

template <class T>
static void Adagrad(const FusedAdagradArgs<T>& args) {
  const TagOf<T> d;
  using V = VecOf<T>;
  StepEach<3, T>(args.tensors, [d, c = args.numbers](const auto& round, VecElementOf<T>* v) HWY_ATTR {
    V param = v[0], state_sum = v[2];
    FusedAdagradElement(d, c, round, V(v[1]), param, state_sum);
    v[0] = param, v[2] = state_sum;
  });
}

template <class T>
static void Sgd(const FusedSgdArgs<T>& args) {
  const TagOf<T> d;
  using V = VecOf<T>;
  if (args.tensors.count == 2) {
    return StepEach<2, T>(args.tensors, [d, c = args.numbers](const auto& round, VecElementOf<T>* v) HWY_ATTR {
      V param = v[0];
      FusedSgdElement(d, c, round, V(v[1]), param, static_cast<V*>(nullptr));
      v[0] = param;
    });
  }
  StepEach<3, T>(args.tensors, [d, c = args.numbers](const auto& round, VecElementOf<T>* v) HWY_ATTR {
    V param = v[0], buffer = v[2];
    FusedSgdElement(d, c, round, V(v[1]), param, &buffer);
    v[0] = param, v[2] = buffer;
  });
}

void FusedAdamKernel(const FusedAdamArgs<float>& args) { Adam(args); }
void FusedAdamKernel(const FusedAdamArgs<double>& args) { Adam(args); }
void FusedAdagradKernel(const FusedAdagradArgs<float>& args) { Adagrad(args); }
void FusedAdagradKernel(const FusedAdagradArgs<double>& args) { Adagrad(args); }
void FusedSgdKernel(const FusedSgdArgs<float>& args) { Sgd(args); }
void FusedSgdKernel(const FusedSgdArgs<double>& args) { Sgd(args); }

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

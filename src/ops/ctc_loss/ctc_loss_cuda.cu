// SPDX-License-Identifier: MIT
#include "base/op_scratch.h"
#include "drivers/row_cuda.h"
#include "drivers/row_functions_cuda.h"
#include "ops/ctc_loss/ctc_loss_kernel.h"

namespace repdl::scalar {

#include "ops/ctc_loss/ctc_loss.row.h"

}  // namespace repdl::scalar

namespace repdl::cuda {

/// One of the batch, by a block.
template <class T>
struct Sequence {
  const CtcLossArgs<T>& args;
  int64_t b, width, steps, count;  // width: places of the longest

  REPDL_ROW Sequence(const CtcLossArgs<T>& args, int64_t b)
      : args(args),
        b(b),
        width(2 * args.labels + 1),
        steps(CheckedIndex(args.input_lengths[b], args.steps + 1)),
        count(2 * CheckedIndex(args.target_lengths[b], args.labels + 1) + 1) {}

  REPDL_ROW static T Never() { return scalar::Neg(scalar::Inf(scalar::Tag<T>())); }
  REPDL_ROW const T* LogProbs(int64_t t) const { return args.log_probs + t * args.step_stride + b * args.batch_stride; }
  REPDL_ROW int64_t ClassOf(int64_t s) const {
    return s % 2 == 0 ? args.blank : CheckedIndex(args.targets[b * args.labels + s / 2], args.classes);
  }
  /// Whether place s follows place s - 2, too.
  REPDL_ROW bool Skips(int64_t s) const { return s % 2 == 1 && s > 1 && s < count && ClassOf(s) != ClassOf(s - 2); }
  /// Of sums of a step.
  REPDL_ROW T At(const T* sums, int64_t s) const { return s >= 0 && s < count ? sums[s] : Never(); }
};

template <class T>
__global__ void __launch_bounds__(kThreadsPerBlock) AlphaKernel(const __grid_constant__ CtcLossArgs<T> args) {
  for (int64_t b = blockIdx.x; b < args.batch; b += gridDim.x) {
    const Sequence<T> sequence(args, b);
    const int64_t width = sequence.width, steps = sequence.steps, count = sequence.count;
    const T never = sequence.Never();
    T* const alpha = args.log_alpha + b * args.steps * width;
    for (int64_t t = 0; t < args.steps; ++t) {
      __syncthreads();  // the step before is there
      T* const now = alpha + t * width;
      const T* const before = now - width;
      for (int64_t s = threadIdx.x; s < width; s += blockDim.x) {
        T sum = never;
        if (t < steps && s < count) {
          const T log_prob = sequence.LogProbs(t)[sequence.ClassOf(s)];
          if (t == 0) {
            if (s < 2) sum = log_prob;
          } else {
            const T skipped = sequence.Skips(s) ? before[s - 2] : never;
            sum = scalar::Add(log_prob, scalar::LogSum<T>(before[s], sequence.At(before, s - 1), skipped));
          }
        }
        now[s] = sum;
      }
    }
    __syncthreads();
    if (threadIdx.x != 0) continue;
    if (steps == 0) {
      args.loss[b] = count > 1 ? scalar::Neg(never) : T{0};
    } else {
      const T* const last = alpha + (steps - 1) * width;
      args.loss[b] = scalar::Neg(scalar::LogSum<T>(last[count - 1], sequence.At(last, count - 2), never));
    }
  }
}

/// What sequences have in scratch memory, each as many as it has places.
template <class T>
struct CtcLossGradCall {
  CtcLossArgs<T> args;
  T* shares;
  T* beta[2];     // of a step, and of the one behind it
  int64_t* next;  // the next place of the same class, or -1
  bool* is_first;
};

template <class T>
__global__ void __launch_bounds__(kThreadsPerBlock) BetaKernel(const __grid_constant__ CtcLossGradCall<T> call) {
  const CtcLossArgs<T>& args = call.args;
  for (int64_t b = blockIdx.x; b < args.batch; b += gridDim.x) {
    const Sequence<T> sequence(args, b);
    const int64_t width = sequence.width, steps = sequence.steps, count = sequence.count;
    const T never = sequence.Never(), loss = args.found_loss[b], factor = args.grad_output[b];
    const bool gives_zero = args.zero_infinity && loss == scalar::Neg(never);
    const T none = scalar::Share<T>(scalar::Add(never, loss));
    T* const shares = call.shares + b * width;
    int64_t* const next = call.next + b * width;
    bool* const is_first = call.is_first + b * width;
    for (int64_t s = threadIdx.x; s < count; s += blockDim.x) {
      const int64_t label = sequence.ClassOf(s);
      int64_t behind = s + 1, before = s - 1;
      while (behind < count && sequence.ClassOf(behind) != label) ++behind;
      while (before >= 0 && sequence.ClassOf(before) != label) --before;
      next[s] = behind < count ? behind : -1;
      is_first[s] = before < 0;
    }
    for (int64_t t = args.steps - 1; t >= 0; --t) {
      T* const grad = args.grad + (t * args.batch + b) * args.classes;
      if (t >= steps || gives_zero) {
        for (int64_t c = threadIdx.x; c < args.classes; c += blockDim.x) grad[c] = T{0};
        continue;
      }
      __syncthreads();  // the shares of the step behind have been read, and its beta is there
      const T* const log_probs = sequence.LogProbs(t);
      const T* const alpha = args.found_log_alpha + (b * args.steps + t) * width;
      const T* const beta_behind = call.beta[(t + 1) % 2] + b * width;
      T* const beta = call.beta[t % 2] + b * width;
      for (int64_t s = threadIdx.x; s < count; s += blockDim.x) {
        T later, sum;
        const T log_prob = log_probs[sequence.ClassOf(s)];
        if (t == steps - 1) {
          const bool is_end = s >= count - 2;
          later = is_end ? T{0} : never, sum = is_end ? log_prob : never;
        } else {
          const T skipped = sequence.Skips(s + 2) ? beta_behind[s + 2] : never;
          later = scalar::LogSum<T>(beta_behind[s], sequence.At(beta_behind, s + 1), skipped);
          sum = scalar::Add(log_prob, later);
        }
        beta[s] = sum;
        shares[s] = scalar::Share<T>(scalar::Add(scalar::Add(alpha[s], later), loss));
      }
      const auto put = [&](int64_t c, T share) {
        grad[c] = scalar::GradOfShare(args.by_scores, share, factor, [&]() { return log_probs[c]; });
      };
      for (int64_t c = threadIdx.x; c < args.classes; c += blockDim.x) put(c, none);
      __syncthreads();  // the shares are there, and all classes have that of no place
      for (int64_t s = threadIdx.x; s < count; s += blockDim.x) {
        if (!is_first[s]) continue;
        T share = none;
        for (int64_t place = s; place >= 0; place = next[place]) share = scalar::Add(share, shares[place]);
        put(sequence.ClassOf(s), share);
      }
    }
  }
}

/// A block for each sequence, of so many places or classes.
template <class T>
static Grid GridOf(const CtcLossArgs<T>& args, int64_t numbers) {
  const int64_t threads =
      std::min<int64_t>((numbers + kWarpThreads - 1) / kWarpThreads * kWarpThreads, kThreadsPerBlock);
  return {std::min(args.batch, kMaxBlocks), static_cast<int>(threads)};
}

template <class T>
static void Run(const Place& place, const CtcLossArgs<T>& args) {
  Launch(place, GridOf(args, 2 * args.labels + 1), &AlphaKernel<T>, args);
}

template <class T>
static void RunGrad(const Place& place, const CtcLossArgs<T>& args) {
  const int64_t width = 2 * args.labels + 1, count = args.batch * width;
  OpScratch scratch(place);
  const CtcLossGradCall<T> call{args,
                                scratch.Get<T>(count),
                                {scratch.Get<T>(count), scratch.Get<T>(count)},
                                scratch.Get<int64_t>(count),
                                scratch.Get<bool>(count)};
  Launch(place, GridOf(args, std::max(width, args.classes)), &BetaKernel<T>, call);
}

REPDL_CUDA_KERNEL(CtcLossKernel, CtcLossArgs<float>) { Run(place, args); }
REPDL_CUDA_KERNEL(CtcLossKernel, CtcLossArgs<double>) { Run(place, args); }
REPDL_CUDA_KERNEL(CtcLossGradKernel, CtcLossArgs<float>) { RunGrad(place, args); }
REPDL_CUDA_KERNEL(CtcLossGradKernel, CtcLossArgs<double>) { RunGrad(place, args); }

}  // namespace repdl::cuda

// SPDX-License-Identifier: MIT
#include <algorithm>
#include <limits>

#include "base/arena.h"
#include "base/parallel.h"
#include "drivers/row_functions_cpu-inl.h"
#include "ops/ctc_loss/ctc_loss_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

/// Sums at places that are worth a fork.
constexpr int64_t kGrain = 1024;

template <class T>
constexpr T kNever = -std::numeric_limits<T>::infinity();

#include "ops/ctc_loss/ctc_loss.row.h"

/// One of the batch.
template <class T>
class Sequence {
 public:
  /// Buffers for the longest; impossible places lie before and behind each row of sums.
  Sequence(const CtcLossArgs<T>& args, Scratch& scratch)
      : args_(args), width_(2 * args.labels + 1), room_(kBefore + width_ + kLanesOf<T> + 2) {
    for (T** buffer : {&sums_, &next_, &at_, &skips_, &shares_}) {
      *buffer = scratch.Get<T>(room_) + kBefore;
    }
    classes_ = scratch.Get<int64_t>(width_);
  }

  void Forward(int64_t b) {
    Begin(b);
    T* const alpha = args_.log_alpha + b * args_.steps * width_;
    for (int64_t t = 0; t < steps_; ++t) {
      ReadStep(t);
      if (t == 0) {
        std::copy_n(at_, std::min<int64_t>(2, count_), next_);
      } else {
        ForVectors<T>(count_, [&](int64_t s, int64_t n) HWY_ATTR {
          const TagOf<T> d;
          const auto skips = Gt(LoadU(d, skips_ + s), Zero(d));
          const VecOf<T> skipped = IfThenElse(skips, LoadU(d, sums_ + s - 2), Set(d, kNever<T>));
          const VecOf<T> sum = LogSum<T>(LoadU(d, sums_ + s), LoadU(d, sums_ + s - 1), skipped);
          StoreN<T>(Add(LoadU(d, at_ + s), sum), next_ + s, n);
        });
      }
      std::swap(sums_, next_);
      std::fill(std::copy_n(sums_, count_, alpha + t * width_), alpha + (t + 1) * width_, kNever<T>);
    }
    std::fill(alpha + steps_ * width_, alpha + args_.steps * width_, kNever<T>);
    args_.loss[b] = steps_ > 0 ? Loss() : count_ > 1 ? -kNever<T> : T{0};
  }

  void Backward(int64_t b) {
    Begin(b);
    const T loss = args_.found_loss[b];
    const bool gives_zero = args_.zero_infinity && loss == -kNever<T>;
    const T* const alpha = args_.found_log_alpha + b * args_.steps * width_;
    const T none = First(Share<T>(Set(TagOf<T>(), kNever<T> + loss)));
    for (int64_t t = args_.steps - 1; t >= 0; --t) {
      T* const grad = args_.grad + (t * args_.batch + b) * args_.classes;
      if (t >= steps_ || gives_zero) {
        std::fill_n(grad, args_.classes, T{0});
        continue;
      }
      ReadStep(t);
      const T* const from = alpha + t * width_;
      if (t == steps_ - 1) {
        for (int64_t s = std::max<int64_t>(count_ - 2, 0); s < count_; ++s) next_[s] = at_[s];
        ForVectors<T>(count_, [&](int64_t s, int64_t n) HWY_ATTR {
          const TagOf<T> d;
          const VecOf<T> later = Set(d, kNever<T>);
          StoreN<T>(Share<T>(Add(Add(LoadN(from + s, n), later), Set(d, loss))), shares_ + s, n);
        });
        for (int64_t s = std::max<int64_t>(count_ - 2, 0); s < count_; ++s) {
          shares_[s] = First(Share<T>(Set(TagOf<T>(), (from[s] + T{0}) + loss)));
        }
      } else {
        ForVectors<T>(count_, [&](int64_t s, int64_t n) HWY_ATTR {
          const TagOf<T> d;
          const auto skips = Gt(LoadU(d, skips_ + s + 2), Zero(d));
          const VecOf<T> skipped = IfThenElse(skips, LoadU(d, sums_ + s + 2), Set(d, kNever<T>));
          const VecOf<T> later = LogSum<T>(LoadU(d, sums_ + s), LoadU(d, sums_ + s + 1), skipped);
          StoreN<T>(Add(LoadU(d, at_ + s), later), next_ + s, n);
          StoreN<T>(Share<T>(Add(Add(LoadN(from + s, n), later), Set(d, loss))), shares_ + s, n);
        });
      }
      std::swap(sums_, next_);
      std::fill_n(grad, args_.classes, none);
      for (int64_t s = 0; s < count_; ++s) grad[classes_[s]] += shares_[s];
      Finish(LogProbs(t), args_.grad_output[b], grad);
    }
  }

 private:
  static constexpr int64_t kBefore = 64 / sizeof(T);

  static T First(VecOf<T> x) {
    T first;
    StoreN<T>(x, &first, 1);
    return first;
  }

  const T* LogProbs(int64_t t) const { return args_.log_probs + t * args_.step_stride + b_ * args_.batch_stride; }

  void Begin(int64_t b) {
    b_ = b;
    steps_ = args_.input_lengths[b];
    count_ = 2 * args_.target_lengths[b] + 1;
    const int64_t* const labels = args_.targets + b * args_.labels;
    for (int64_t s = 0; s < count_; ++s) classes_[s] = s % 2 == 0 ? args_.blank : labels[s / 2];
    std::fill_n(skips_ - kBefore, room_, T{0});
    for (int64_t s = 3; s < count_; s += 2) skips_[s] = classes_[s] == classes_[s - 2] ? T{0} : T{1};
    std::fill_n(at_ - kBefore, room_, T{0});
    std::fill_n(sums_ - kBefore, room_, kNever<T>);
    std::fill_n(next_ - kBefore, room_, kNever<T>);
  }

  void ReadStep(int64_t t) {
    const T* const log_probs = LogProbs(t);
    for (int64_t s = 0; s < count_; ++s) at_[s] = log_probs[classes_[s]];
  }

  T Loss() const {
    const TagOf<T> d;
    const VecOf<T> never = Set(d, kNever<T>);
    return -First(LogSum<T>(Set(d, sums_[count_ - 1]), Set(d, sums_[count_ - 2]), never));
  }

  /// From the shares of the classes of a step.
  void Finish(const T* log_probs, T factor, T* grad) const {
    ForVectors<T>(args_.classes, [&](int64_t c, int64_t n) HWY_ATTR {
      const TagOf<T> d;
      const auto log_prob = [&]() HWY_ATTR { return LoadN(log_probs + c, n); };
      StoreN<T>(GradOfShare(args_.by_scores, LoadN(grad + c, n), Set(d, factor), log_prob), grad + c, n);
    });
  }

  const CtcLossArgs<T>& args_;
  const int64_t width_, room_;
  T *sums_, *next_, *at_, *skips_, *shares_;
  int64_t* classes_;
  int64_t b_ = 0, steps_ = 0, count_ = 0;
};

template <class T, class Each>
void ForSequences(const CtcLossArgs<T>& args, int64_t classes, const Each& each) {
  const int64_t numbers = args.steps * (2 * args.labels + 1 + classes);
  ParallelRanges(args.batch, kGrain / std::max<int64_t>(numbers, 1) + 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    Scratch scratch;
    Sequence<T> sequence(args, scratch);
    for (int64_t b = begin; b < end; ++b) each(sequence, b);
  });
}

template <class T>
void Run(const CtcLossArgs<T>& args) {
  ForSequences(args, 0, [](Sequence<T>& sequence, int64_t b) HWY_ATTR { sequence.Forward(b); });
}

template <class T>
void RunGrad(const CtcLossArgs<T>& args) {
  ForSequences(args, args.classes, [](Sequence<T>& sequence, int64_t b) HWY_ATTR { sequence.Backward(b); });
}

}  // namespace

void CtcLossKernel(const CtcLossArgs<float>& args) { Run(args); }
void CtcLossKernel(const CtcLossArgs<double>& args) { Run(args); }
void CtcLossGradKernel(const CtcLossArgs<float>& args) { RunGrad(args); }
void CtcLossGradKernel(const CtcLossArgs<double>& args) { RunGrad(args); }

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

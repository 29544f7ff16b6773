// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "functions.h"
#include "op.h"
#include "tensors.h"

namespace repdl::reference {
namespace {

template <class T>
constexpr T kInfinity = std::numeric_limits<T>::infinity();

/// e(x) of docs/arithmetic.md, ctc_loss.
template <class T>
T E(T x) {
  return x < (sizeof(T) == 4 ? -87 : -700) ? T{0} : Exp(x);
}

template <class T>
T LogSum(std::array<T, 3> logs) {
  for (const T x : logs) {
    if (std::isnan(x)) return x;
  }
  std::sort(logs.begin(), logs.end());
  const T m = logs[2];
  if (std::isinf(m)) return m;
  return m + Rounded<T>(*FindFunction("log1p"), E(logs[0] - m) + E(logs[1] - m));
}

template <class T>
using Table = std::vector<Numbers<T>>;  // by step, then by place

/// One sequence of the batch.
template <class T>
class Sequence {
 public:
  Sequence(const Arguments& args, int64_t b)
      : b_(b),
        batch_(args.Shape("log_probs")[1]),
        num_classes_(args.Shape("log_probs")[2]),
        steps_(args.IndicesOf("input_lengths")[b]),
        log_probs_(args.NumbersOf<T>("log_probs")),
        classes_{args.Int("blank")} {
    const Indices labels = args.IndicesOf("targets");
    for (int64_t i = 0; i < args.IndicesOf("target_lengths")[b]; ++i) {
      classes_.push_back(labels[b * args.Shape("targets")[1] + i]);
      classes_.push_back(args.Int("blank"));
    }
  }

  int64_t steps() const { return steps_; }
  int64_t count() const { return static_cast<int64_t>(classes_.size()); }
  int64_t Class(int64_t s) const { return classes_[s]; }
  T LogProb(int64_t t, int64_t c) const { return log_probs_[(t * batch_ + b_) * num_classes_ + c]; }

  Table<T> Alpha() const {
    Table<T> alpha;
    for (int64_t t = 0; t < steps_; ++t) {
      Numbers<T> row;
      for (int64_t s = 0; s < count(); ++s) {
        const T x = LogProb(t, Class(s));
        row.push_back(t == 0 ? (s < 2 ? x : -kInfinity<T>) : x + Reached(alpha.back(), s, -1));
      }
      alpha.push_back(row);
    }
    return alpha;
  }

  T Loss(const Table<T>& alpha) const {
    if (steps_ == 0) return count() == 1 ? T{0} : kInfinity<T>;
    const Numbers<T>& last = alpha.back();
    return -LogSum<T>({last[count() - 1], count() == 1 ? -kInfinity<T> : last[count() - 2], -kInfinity<T>});
  }

  Table<T> Later() const {
    Table<T> later(steps_);
    Numbers<T> beta(count());
    for (int64_t t = steps_ - 1; t >= 0; --t) {
      for (int64_t s = 0; s < count(); ++s) {
        const T end = s >= count() - 2 ? T{0} : -kInfinity<T>;
        later[t].push_back(t == steps_ - 1 ? end : Reached(beta, s, 1));
      }
      for (int64_t s = 0; s < count(); ++s) {
        const bool is_never = t == steps_ - 1 && s < count() - 2;
        beta[s] = is_never ? -kInfinity<T> : LogProb(t, Class(s)) + later[t][s];
      }
    }
    return later;
  }

 private:
  /// The LogSum of what stands at a place, at the one next to it, and at the one behind that if it may be skipped to.
  T Reached(const Numbers<T>& row, int64_t s, int64_t direction) const {
    const auto at = [&](int64_t place) { return place < 0 || place >= count() ? -kInfinity<T> : row[place]; };
    const int64_t two = s + 2 * direction;
    const bool skips = two >= 0 && two < count() && Class(two) != Class(s);
    return LogSum<T>({row[s], at(s + direction), skips ? row[two] : -kInfinity<T>});
  }

  int64_t b_, batch_, num_classes_, steps_;
  Numbers<T> log_probs_;
  Indices classes_;
};

}  // namespace

template <class T>
static Results RunCtcLoss(const Case& test_case) {
  const Arguments args(test_case);
  const IntList shape = args.OutputShape(1);
  Numbers<T> losses, alphas(Size(shape), -kInfinity<T>);
  for (int64_t b = 0; b < shape[0]; ++b) {
    const Sequence<T> sequence(args, b);
    const Table<T> alpha = sequence.Alpha();
    losses.push_back(sequence.Loss(alpha));
    for (int64_t t = 0; t < sequence.steps(); ++t) {
      for (int64_t s = 0; s < sequence.count(); ++s) alphas[(b * shape[1] + t) * shape[2] + s] = alpha[t][s];
    }
  }
  Results results;
  Append(results, losses, args.OutputShape(0));
  Append(results, alphas, shape);
  return results;
}

template <class T>
static Results RunCtcLossGrad(const Case& test_case) {
  const Arguments args(test_case);
  const IntList shape = args.OutputShape(), alpha_shape = args.Shape("log_alpha");
  const Numbers<T> grad_output = args.NumbersOf<T>("grad_output"), losses = args.NumbersOf<T>("loss"),
                   alpha = args.NumbersOf<T>("log_alpha");
  Numbers<T> grad(Size(shape), T{0});
  for (int64_t b = 0; b < shape[1]; ++b) {
    if (args.Flag("zero_infinity") && losses[b] == kInfinity<T>) continue;
    const Sequence<T> sequence(args, b);
    const Table<T> later = sequence.Later();
    for (int64_t t = 0; t < sequence.steps(); ++t) {
      Numbers<T> shares(shape[2], E(losses[b] - kInfinity<T>));
      for (int64_t s = 0; s < sequence.count(); ++s) {
        const T a = alpha[(b * alpha_shape[1] + t) * alpha_shape[2] + s];
        shares[sequence.Class(s)] += E((a + later[t][s]) + losses[b]);
      }
      for (int64_t c = 0; c < shape[2]; ++c) {
        const T difference = args.Flag("by_scores") ? Exp(sequence.LogProb(t, c)) - shares[c] : -shares[c];
        grad[(t * shape[1] + b) * shape[2] + c] = difference * grad_output[b];
      }
    }
  }
  Results results;
  Append(results, grad, shape);
  return results;
}

static const Op kOps[] = {{"ctc_loss", REPDL_EITHER(RunCtcLoss)}, {"ctc_loss_grad", REPDL_EITHER(RunCtcLossGrad)}};

}  // namespace repdl::reference

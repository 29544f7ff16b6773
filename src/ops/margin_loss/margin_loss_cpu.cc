// SPDX-License-Identifier: MIT
#include <algorithm>

#include "base/arena.h"
#include "base/parallel.h"
#include "drivers/row_cpu-inl.h"
#include "ops/margin_loss/margin_loss_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

#include "ops/margin_loss/margin_loss.row.h"

namespace {

template <class T, class Body>
void ForRows(const MarginLossArgs<T>& args, int64_t work, const Body& body) {
  ParallelRanges(args.rows, 8192 / std::max<int64_t>(work, 1) + 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    Scratch scratch;
    T* const buffer = scratch.Get<T>(args.classes);
    for (int64_t r = begin; r < end; ++r) body(r, args.input + r * args.classes, buffer);
  });
}

template <class T>
auto RowOf(const MarginLossArgs<T>& args, int64_t r, const T* x, T* y) {
  const int64_t t = args.target[r];
  return MultiMarginRow<Row<T>, RowNumbers<const T>, RowNumbers<T>, int64_t>{
      {args.classes, args.order},
      {x},
      {y},
      t,
      args.margin,
      args.weight == nullptr ? T{1} : args.weight[t],
      args.is_squared,
      args.weight != nullptr};
}

template <class T>
void MultiMargin(const MarginLossArgs<T>& args) {
  ForRows(args, args.classes, [&](int64_t r, const T* x, T* buffer) HWY_ATTR {
    args.losses[r] = RowOf(args, r, x, buffer).Loss(static_cast<T>(args.classes));
  });
}

template <class T>
void MultiMarginGrad(const MarginLossArgs<T>& args) {
  ForRows(args, args.classes, [&](int64_t r, const T* x, T*) HWY_ATTR {
    RowOf(args, r, x, args.grad_input + r * args.classes)
        .Gradient(static_cast<T>(args.classes), args.part * args.grad_output[r]);
  });
}

/// The labels of a row: their number; is_target says which classes are labels.
template <class T>
int64_t LabelsOf(const int64_t* target, int64_t classes, T* is_target) {
  const int64_t count = std::find(target, target + classes, int64_t{-1}) - target;
  std::fill_n(is_target, classes, T{0});
  for (int64_t k = 0; k < count; ++k) is_target[target[k]] = 1;
  return count;
}

/// How far classes reach into the margin of a label; +0 for labels.
template <class T>
HWY_INLINE VecOf<T> Reach(VecOf<T> away, VecOf<T> x, VecOf<T> is_target) {
  const TagOf<T> d;
  return IfThenZeroElse(Gt(is_target, Zero(d)), Above(d, Add(away, x)));
}

template <class T>
void MultilabelMargin(const MarginLossArgs<T>& args) {
  const TagOf<T> d;
  const int64_t classes = args.classes;
  ForRows(args, classes * classes, [&](int64_t r, const T* x, T*) HWY_ATTR {
    const int64_t* const target = args.target + r * classes;
    T* const is_target = args.is_target + r * classes;
    const int64_t count = LabelsOf(target, classes, is_target);
    HWY_ALIGN T terms[kSumChunk];
    const T sum = SumTerms<T>(count * classes, args.order, [&](int64_t begin, int64_t length) HWY_ATTR {
      for (int64_t done = 0; done < length;) {
        const int64_t k = (begin + done) / classes, first = (begin + done) % classes;
        const int64_t n = std::min(length - done, classes - first);
        const VecOf<T> away = Set(d, 1 - x[target[k]]);
        ForVectors<T>(n, [&](int64_t j, int64_t m) HWY_ATTR {
          StoreN(Reach<T>(away, LoadN(x + first + j, m), LoadN<T>(is_target + first + j, m)), terms + done + j, m);
        });
        done += n;
      }
      return terms;
    });
    args.losses[r] = sum / static_cast<T>(classes);
  });
}

template <class T>
void MultilabelMarginGrad(const MarginLossArgs<T>& args) {
  const int64_t classes = args.classes;
  ForRows(args, classes * classes, [&](int64_t r, const T* x, T* is_target) HWY_ATTR {
    const int64_t* const target = args.target + r * classes;
    const int64_t count = LabelsOf(target, classes, is_target);
    Scratch scratch;
    int64_t* const slopes = scratch.Get<int64_t>(classes);
    std::fill_n(slopes, classes, int64_t{0});
    for (int64_t k = 0; k < count; ++k) {
      const T away = 1 - x[target[k]];
      int64_t reached = 0;
      for (int64_t j = 0; j < classes; ++j) {
        const int64_t reaches = is_target[j] == 0 && away + x[j] > 0 ? 1 : 0;
        slopes[j] += reaches;
        reached += reaches;
      }
      slopes[target[k]] -= reached;
    }
    T* const grad_input = args.grad_input + r * classes;
    const T g = args.part * args.grad_output[r];
    for (int64_t j = 0; j < classes; ++j) {
      grad_input[j] = static_cast<T>(slopes[j]) / static_cast<T>(classes) * g;
    }
  });
}

}  // namespace

void MultiMarginKernel(const MarginLossArgs<float>& args) { MultiMargin(args); }
void MultiMarginKernel(const MarginLossArgs<double>& args) { MultiMargin(args); }
void MultiMarginGradKernel(const MarginLossArgs<float>& args) { MultiMarginGrad(args); }
void MultiMarginGradKernel(const MarginLossArgs<double>& args) { MultiMarginGrad(args); }
void MultilabelMarginKernel(const MarginLossArgs<float>& args) { MultilabelMargin(args); }
void MultilabelMarginKernel(const MarginLossArgs<double>& args) { MultilabelMargin(args); }
void MultilabelMarginGradKernel(const MarginLossArgs<float>& args) { MultilabelMarginGrad(args); }
void MultilabelMarginGradKernel(const MarginLossArgs<double>& args) { MultilabelMarginGrad(args); }

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

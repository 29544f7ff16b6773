// SPDX-License-Identifier: MIT
#include "drivers/softmax_cpu-inl.h"
#include "ops/softmax/softmax_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

/// Calls body(x, y, result) for each row, with the rows side by side.
template <class T, class Body>
void ForRows(const SoftmaxArgs<T>& args, const Body& body) {
  const int64_t n = args.n;
  ParallelRanges(args.num_rows, 4096 / n + 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    Scratch scratch;
    T* const x_buffer = scratch.Get<T>(n);
    T* const y_buffer = scratch.Get<T>(n);
    T* const result_buffer = scratch.Get<T>(n);
    for (int64_t r = begin; r < end; ++r) {
      const T* x = SideBySide(args.input.data + args.input.starts.Offset(r), args.input.stride, n, x_buffer);
      const T* y = nullptr;
      if (args.output.data != nullptr) {
        y = SideBySide(args.output.data + args.output.starts.Offset(r), args.output.stride, n, y_buffer);
      }
      T* const to = args.result.data + args.result.starts.Offset(r);
      T* const result = args.result.stride == 1 ? to : result_buffer;
      body(x, y, result);
      PutRow(result, n, to, args.result.stride);
    }
  });
}

template <class T>
void Softmax(const SoftmaxArgs<T>& args) {
  const int64_t n = args.n;
  ForRows(args, [&](const T* x, const T*, T* y) HWY_ATTR {
    SubtractFromRow(x, MaxOfRow(x, n), n, y);
    ExpOfRow(y, n, y);
    const VecOf<T> sum = Set(TagOf<T>(), SumRow(y, n, args.order));
    ForVectors<T>(n, [&](int64_t i, int64_t count) HWY_ATTR { StoreN(Div(LoadN(y + i, count), sum), y + i, count); });
  });
}

template <class T>
void LogSoftmax(const SoftmaxArgs<T>& args) {
  const int64_t n = args.n;
  ForRows(args, [&](const T* x, const T*, T* y) HWY_ATTR {
    SubtractFromRow(x, MaxOfRow(x, n), n, y);
    HWY_ALIGN T terms[kSumChunk];
    const T sum = SumTerms<T>(n, args.order, [&](int64_t begin, int64_t count) HWY_ATTR {
      ExpOfRow(y + begin, count, terms);
      return terms;
    });
    SubtractFromRow(y, LogOf(sum), n, y);
  });
}

template <class T>
void SoftmaxGrad(const SoftmaxArgs<T>& args) {
  const int64_t n = args.n;
  ForRows(args, [&](const T* g, const T* y, T* grad) HWY_ATTR {
    HWY_ALIGN T terms[kSumChunk];
    const T sum = SumTerms<T>(n, args.order, [&](int64_t begin, int64_t length) HWY_ATTR {
      ForVectors<T>(length, [&](int64_t i, int64_t count) HWY_ATTR {
        StoreN(Mul(LoadN(g + begin + i, count), LoadN(y + begin + i, count)), terms + i, count);
      });
      return terms;
    });
    const VecOf<T> t = Set(TagOf<T>(), sum);
    ForVectors<T>(n, [&](int64_t i, int64_t count)
                         HWY_ATTR { StoreN(Mul(Sub(LoadN(g + i, count), t), LoadN(y + i, count)), grad + i, count); });
  });
}

template <class T>
void LogSoftmaxGrad(const SoftmaxArgs<T>& args) {
  const int64_t n = args.n;
  ForRows(args, [&](const T* g, const T* y, T* grad) HWY_ATTR {
    const VecOf<T> t = Set(TagOf<T>(), SumRow(g, n, args.order));
    ForVectors<T>(n, [&](int64_t i, int64_t count) HWY_ATTR {
      StoreN(Sub(LoadN(g + i, count), Mul(ExpOfEach(LoadN(y + i, count)), t)), grad + i, count);
    });
  });
}

}  // namespace

void SoftmaxKernel(const SoftmaxArgs<float>& args) { Softmax(args); }
void LogSoftmaxKernel(const SoftmaxArgs<float>& args) { LogSoftmax(args); }
void SoftmaxGradKernel(const SoftmaxArgs<float>& args) { SoftmaxGrad(args); }
void SoftmaxGradKernel(const SoftmaxArgs<double>& args) { SoftmaxGrad(args); }
void LogSoftmaxGradKernel(const SoftmaxArgs<float>& args) { LogSoftmaxGrad(args); }

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

// SPDX-License-Identifier: MIT
#include "drivers/softmax_cpu-inl.h"
#include "ops/softmax/softmax_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

/// Calls body(x, y, result) for each row, with the rows side by side.
template <class Body>
void ForRows(const SoftmaxArgs& args, const Body& body) {
  const int64_t n = args.n;
  ParallelRanges(args.num_rows, 4096 / n + 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    Scratch scratch;
    float* const x_buffer = scratch.Get<float>(n);
    float* const y_buffer = scratch.Get<float>(n);
    float* const result_buffer = scratch.Get<float>(n);
    for (int64_t r = begin; r < end; ++r) {
      const float* x = SideBySide(args.input.data + args.input.starts.Offset(r), args.input.stride, n, x_buffer);
      const float* y = nullptr;
      if (args.output.data != nullptr) {
        y = SideBySide(args.output.data + args.output.starts.Offset(r), args.output.stride, n, y_buffer);
      }
      float* const to = args.result.data + args.result.starts.Offset(r);
      float* const result = args.result.stride == 1 ? to : result_buffer;
      body(x, y, result);
      PutRow(result, n, to, args.result.stride);
    }
  });
}

}  // namespace

void SoftmaxKernel(const SoftmaxArgs& args) {
  const FloatTag d;
  const int64_t n = args.n;
  ForRows(args, [&](const float* x, const float*, float* y) HWY_ATTR {
    SubtractFromRow(x, MaxOfRow(x, n), n, y);
    if (args.log) {
      HWY_ALIGN float terms[kSumChunk];
      const float sum = SumTerms(n, args.order, [&](int64_t begin, int64_t count) HWY_ATTR {
        ExpOfRow(y + begin, count, terms);
        return terms;
      });
      SubtractFromRow(y, LogOf(sum), n, y);
    } else {
      ExpOfRow(y, n, y);
      const Vec sum = Set(d, SumRow(y, n, args.order));
      ForVectors(n, [&](int64_t i, int64_t count) HWY_ATTR { StoreN(Div(LoadN(y + i, count), sum), y + i, count); });
    }
  });
}

void SoftmaxGradKernel(const SoftmaxArgs& args) {
  const FloatTag d;
  const int64_t n = args.n;
  ForRows(args, [&](const float* g, const float* y, float* grad) HWY_ATTR {
    if (args.log) {
      const Vec t = Set(d, SumRow(g, n, args.order));
      ForVectors(n, [&](int64_t i, int64_t count) HWY_ATTR {
        StoreN(Sub(LoadN(g + i, count), Mul(Exp(LoadN(y + i, count)), t)), grad + i, count);
      });
    } else {
      HWY_ALIGN float terms[kSumChunk];
      const float sum = SumTerms(n, args.order, [&](int64_t begin, int64_t length) HWY_ATTR {
        ForVectors(length, [&](int64_t i, int64_t count) HWY_ATTR {
          StoreN(Mul(LoadN(g + begin + i, count), LoadN(y + begin + i, count)), terms + i, count);
        });
        return terms;
      });
      const Vec t = Set(d, sum);
      ForVectors(n, [&](int64_t i, int64_t count)
                        HWY_ATTR { StoreN(Mul(Sub(LoadN(g + i, count), t), LoadN(y + i, count)), grad + i, count); });
    }
  });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

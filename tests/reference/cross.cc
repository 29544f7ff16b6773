// SPDX-License-Identifier: MIT
#include "op.h"

namespace repdl::reference {

template <class T>
static Results RunCross(const Case& test_case) {
  const Arguments args(test_case);
  const Numbers<T> a = args.NumbersOf<T>("input"), b = args.NumbersOf<T>("other");
  const Layout layout = Layout::Along(args.Shape("input"), args.Int("dim"));
  Numbers<T> output(a.size());
  for (int64_t row = 0; row < layout.rows(); ++row) {
    for (int64_t i = 0; i < 3; ++i) {
      const int64_t next = layout.At(row, (i + 1) % 3), last = layout.At(row, (i + 2) % 3);
      const T left = a[next] * b[last], right = a[last] * b[next];
      output[layout.At(row, i)] = left - right;
    }
  }
  Results results;
  Append(results, output, args.OutputShape(), args.OutputType());
  return results;
}

static const Op kOps[] = {{"cross", REPDL_EITHER(RunCross)}};

}  // namespace repdl::reference

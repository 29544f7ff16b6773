// SPDX-License-Identifier: MIT
#include "map.h"
#include "op.h"

namespace repdl::reference {

template <class T>
static Results RunSpaced(const Case& test_case) {
  const Arguments args(test_case);
  const int64_t count = args.Int("count");
  const T start = static_cast<T>(args.Number("start")), end = static_cast<T>(args.Number("end"));
  const T last = static_cast<T>(count - 1), middle = static_cast<T>(count / 2);
  const T difference = end - start;
  const T step = difference / last;
  return Map<T>(test_case, [=](T i) {
    if (i < middle) {
      const T up = step * i;
      return start + up;
    }
    const T rest = last - i;
    const T down = step * rest;
    return end - down;
  });
}

static const Op kOps[] = {{"spaced", REPDL_EITHER(RunSpaced)}};

}  // namespace repdl::reference

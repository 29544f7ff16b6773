// SPDX-License-Identifier: MIT
// Complex numbers as pairs in a last dimension: four real products, and their differences and sums.
#include "op.h"
#include "sums.h"

namespace repdl::reference {

template <class T>
static Results RunComplexMm(const Case& test_case) {
  const Arguments args(test_case);
  const IntList a_shape = args.Shape("input"), b_shape = args.Shape("mat2"), shape = args.OutputShape();
  const int rank = shape.size();
  const int64_t rows = shape[rank - 3], columns = shape[rank - 2], depth = a_shape[a_shape.size() - 2];
  const Numbers<T> a = args.NumbersOf<T>("input"), b = args.NumbersOf<T>("mat2");
  const T a_sign = args.Flag("conjA") ? -1 : 1, b_sign = args.Flag("conjB") ? -1 : 1;

  Numbers<T> output(Size(shape));
  for (int64_t i = 0; i < Size(shape) / 2; ++i) {
    const int64_t column = i % columns, row = i / columns % rows, matrix = i / columns / rows;
    const int64_t a_start = (a_shape.size() > 3 ? matrix : 0) * rows * depth;
    const int64_t b_start = (b_shape.size() > 3 ? matrix : 0) * depth * columns;
    ProductOf<T> ac(args.TheOrder()), bd(args.TheOrder()), ad(args.TheOrder()), bc(args.TheOrder());
    for (int64_t k = 0; k < depth; ++k) {
      const T* const x = &a[2 * (a_start + row * depth + k)];
      const T* const y = &b[2 * (b_start + k * columns + column)];
      ac.Add(x[0], y[0]);
      bd.Add(x[1] * a_sign, y[1] * b_sign);
      ad.Add(x[0], y[1] * b_sign);
      bc.Add(x[1] * a_sign, y[0]);
    }
    output[2 * i] = ac.Result() - bd.Result();
    output[2 * i + 1] = ad.Result() + bc.Result();
  }
  Results results;
  Append(results, output, shape);
  return results;
}

static const Op kOps[] = {{"complex_mm", REPDL_EITHER(RunComplexMm)}};

}  // namespace repdl::reference

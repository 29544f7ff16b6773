// SPDX-License-Identifier: MIT
#include "mm.h"

#include "op.h"
#include "parallel.h"
#include "sums.h"

namespace repdl::reference {

Floats Mm(const Matrix& a, const Matrix& b, int64_t rows, int64_t columns, int64_t depth, Order order) {
  Floats output(rows * columns);
  ForEach(rows, [&](int64_t i) {
    for (int64_t j = 0; j < columns; ++j) {
      Product product(order);
      for (int64_t k = 0; k < depth; ++k) product.Add(a(i, k), b(k, j));
      output[i * columns + j] = product.Result();
    }
  });
  return output;
}

Floats Linear(const Floats& input, const Floats& weight, const Floats& bias, int64_t rows, int64_t columns,
              int64_t depth, Order order) {
  Floats output = Mm({input.data(), depth, 1}, {weight.data(), 1, depth}, rows, columns, depth, order);
  if (!bias.empty()) {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) output[i * columns + j] += bias[j];
    }
  }
  return output;
}

namespace {

/// The matrices of a batch; a tensor with two dimensions is every one of them.
class Batch {
 public:
  Batch(const Floats& data, const IntList& shape, bool transposed)
      : data_(data),
        rows_(shape[shape.size() - 2]),
        columns_(shape[shape.size() - 1]),
        step_(shape.size() > 2 ? rows_ * columns_ : 0),
        transposed_(transposed) {}

  int64_t rows() const { return transposed_ ? columns_ : rows_; }
  int64_t columns() const { return transposed_ ? rows_ : columns_; }
  Matrix operator[](int64_t n) const {
    const float* start = data_.data() + n * step_;
    return transposed_ ? Matrix{start, 1, columns_} : Matrix{start, columns_, 1};
  }

 private:
  const Floats& data_;
  int64_t rows_, columns_, step_;
  bool transposed_;
};

}  // namespace

static Results RunMm(const Case& test_case) {
  const Arguments args(test_case);
  const Floats input = args.FloatsOf("input");
  const Floats mat2 = args.FloatsOf("mat2");
  const Batch a(input, args.Shape("input"), args.Flag("transA"));
  const Batch b(mat2, args.Shape("mat2"), args.Flag("transB"));
  const IntList shape = args.OutputShape();
  int64_t batch = 1;
  for (int i = 0; i < shape.size() - 2; ++i) batch *= shape[i];

  Floats output;
  for (int64_t n = 0; n < batch; ++n) {
    const Floats product = Mm(a[n], b[n], a.rows(), b.columns(), a.columns(), args.TheOrder());
    output.insert(output.end(), product.begin(), product.end());
  }
  Results results;
  Append(results, output, shape);
  return results;
}

static Results RunLinear(const Case& test_case) {
  const Arguments args(test_case);
  const IntList shape = args.OutputShape();
  const int64_t columns = args.Shape("weight")[0];
  const int64_t depth = args.Shape("weight")[1];
  int64_t rows = 1;
  for (int i = 0; i < shape.size() - 1; ++i) rows *= shape[i];
  Results results;
  Append(results,
         Linear(args.FloatsOf("input"), args.FloatsOf("weight"), args.FloatsOf("bias"), rows, columns, depth,
                args.TheOrder()),
         shape);
  return results;
}

static Results RunAddmm(const Case& test_case) {
  const Arguments args(test_case);
  const IntList shape = args.OutputShape();
  const Floats mat1 = args.FloatsOf("mat1"), mat2 = args.FloatsOf("mat2"), input = args.FloatsOf("input");
  const int64_t depth = args.Shape("mat1")[1];
  Floats output = Mm({mat1.data(), depth, 1}, {mat2.data(), shape[1], 1}, shape[0], shape[1], depth, args.TheOrder());
  for (int64_t i = 0; i < Size(shape); ++i) output[i] = output[i] + input[i % shape[1]];
  Results results;
  Append(results, output, shape);
  return results;
}

static const Op kOps[] = {{"mm", RunMm}, {"linear", RunLinear}, {"addmm", RunAddmm}};

}  // namespace repdl::reference

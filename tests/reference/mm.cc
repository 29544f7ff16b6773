// SPDX-License-Identifier: MIT
#include "mm.h"

#include "op.h"
#include "parallel.h"
#include "sums.h"

namespace repdl::reference {

template <class T>
Numbers<T> Mm(const MatrixOf<std::type_identity_t<T>>& a, const MatrixOf<std::type_identity_t<T>>& b, int64_t rows,
              int64_t columns, int64_t depth, Order order) {
  Numbers<T> output(rows * columns);
  ForEach(rows, [&](int64_t i) {
    for (int64_t j = 0; j < columns; ++j) {
      ProductOf<T> product(order);
      for (int64_t k = 0; k < depth; ++k) product.Add(a(i, k), b(k, j));
      output[i * columns + j] = product.Result();
    }
  });
  return output;
}

template <class T>
Numbers<T> Linear(const Numbers<T>& input, const Numbers<T>& weight, const Numbers<T>& bias, int64_t rows,
                  int64_t columns, int64_t depth, Order order) {
  Numbers<T> output = Mm<T>({input.data(), depth, 1}, {weight.data(), 1, depth}, rows, columns, depth, order);
  if (!bias.empty()) {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) output[i * columns + j] += bias[j];
    }
  }
  return output;
}

template Floats Mm(const Matrix& a, const Matrix& b, int64_t rows, int64_t columns, int64_t depth, Order order);
template Floats Linear(const Floats& input, const Floats& weight, const Floats& bias, int64_t rows, int64_t columns,
                       int64_t depth, Order order);
template Numbers<double> Mm(const MatrixOf<double>& a, const MatrixOf<double>& b, int64_t rows, int64_t columns,
                            int64_t depth, Order order);
template Numbers<double> Linear(const Numbers<double>& input, const Numbers<double>& weight,
                                const Numbers<double>& bias, int64_t rows, int64_t columns, int64_t depth, Order order);

namespace {

/// The matrices of a batch; a tensor with two dimensions is every one of them.
template <class T>
class Batch {
 public:
  Batch(const Numbers<T>& data, const IntList& shape, bool transposed)
      : data_(data),
        rows_(shape[shape.size() - 2]),
        columns_(shape[shape.size() - 1]),
        step_(shape.size() > 2 ? rows_ * columns_ : 0),
        transposed_(transposed) {}

  int64_t rows() const { return transposed_ ? columns_ : rows_; }
  int64_t columns() const { return transposed_ ? rows_ : columns_; }
  MatrixOf<T> operator[](int64_t n) const {
    const T* start = data_.data() + n * step_;
    return transposed_ ? MatrixOf<T>{start, 1, columns_} : MatrixOf<T>{start, columns_, 1};
  }

 private:
  const Numbers<T>& data_;
  int64_t rows_, columns_, step_;
  bool transposed_;
};

}  // namespace

template <class T>
static Results RunMm(const Case& test_case) {
  const Arguments args(test_case);
  const Numbers<T> input = args.NumbersOf<T>("input");
  const Numbers<T> mat2 = args.NumbersOf<T>("mat2");
  const Batch<T> a(input, args.Shape("input"), args.Flag("transA"));
  const Batch<T> b(mat2, args.Shape("mat2"), args.Flag("transB"));
  const IntList shape = args.OutputShape();
  int64_t batch = 1;
  for (int i = 0; i < shape.size() - 2; ++i) batch *= shape[i];

  Numbers<T> output;
  for (int64_t n = 0; n < batch; ++n) {
    const Numbers<T> product = Mm<T>(a[n], b[n], a.rows(), b.columns(), a.columns(), args.TheOrder());
    output.insert(output.end(), product.begin(), product.end());
  }
  Results results;
  Append(results, output, shape, args.OutputType());
  return results;
}

template <class T>
static Results RunLinear(const Case& test_case) {
  const Arguments args(test_case);
  const IntList shape = args.OutputShape();
  const int64_t columns = args.Shape("weight")[0];
  const int64_t depth = args.Shape("weight")[1];
  int64_t rows = 1;
  for (int i = 0; i < shape.size() - 1; ++i) rows *= shape[i];
  Results results;
  Append(results,
         Linear<T>(args.NumbersOf<T>("input"), args.NumbersOf<T>("weight"), args.NumbersOf<T>("bias"), rows, columns,
                   depth, args.TheOrder()),
         shape, args.OutputType());
  return results;
}

template <class T>
static Results RunAddmm(const Case& test_case) {
  const Arguments args(test_case);
  const IntList shape = args.OutputShape();
  const Numbers<T> mat1 = args.NumbersOf<T>("mat1"), mat2 = args.NumbersOf<T>("mat2"),
                   input = args.NumbersOf<T>("input");
  const int64_t depth = args.Shape("mat1")[1];
  Numbers<T> output =
      Mm<T>({mat1.data(), depth, 1}, {mat2.data(), shape[1], 1}, shape[0], shape[1], depth, args.TheOrder());
  for (int64_t i = 0; i < Size(shape); ++i) output[i] = output[i] + input[i % shape[1]];
  Results results;
  Append(results, output, shape, args.OutputType());
  return results;
}

/// A matrix, or one row, times a column.
template <class T>
static Results TimesColumn(const Case& test_case, std::string_view name) {
  const Arguments args(test_case);
  const Numbers<T> input = args.NumbersOf<T>("input"), column = args.NumbersOf<T>(name);
  const IntList shape = args.OutputShape();
  const auto depth = static_cast<int64_t>(column.size());
  Results results;
  Append(results, Mm<T>({input.data(), depth, 1}, {column.data(), 1, 1}, Size(shape), 1, depth, args.TheOrder()), shape,
         args.OutputType());
  return results;
}

template <class T>
static Results RunMv(const Case& test_case) {
  return TimesColumn<T>(test_case, "vec");
}

template <class T>
static Results RunDot(const Case& test_case) {
  return TimesColumn<T>(test_case, "tensor");
}

static const Op kOps[] = {{"mm", REPDL_EITHER(RunMm)},
                          {"mv", REPDL_EITHER(RunMv)},
                          {"dot", REPDL_EITHER(RunDot)},
                          {"linear", REPDL_EITHER(RunLinear)},
                          {"addmm", REPDL_EITHER(RunAddmm)}};

}  // namespace repdl::reference

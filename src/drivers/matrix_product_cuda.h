// SPDX-License-Identifier: MIT
// Products of matrices on CUDA.
#pragma once

#include <utility>

#include "drivers/product_cuda.h"
#include "drivers/product_operand_cuda.h"
#include "drivers/product_sink_cuda.h"

namespace repdl::cuda {

template <class T>
using MatrixProductArgs = ProductArgs<ProductOperand<T>, ProductOperand<T>, Chunks, MatrixSink<T>>;

/// c = a b (+ bias) for each matrix of a batch; c is row-major, and its matrices lie side by side.
template <class T>
struct ProductCall {
  int64_t m, n, k, batch, chain;
  ProductOperand<T> a, b;  // the rows of a, the columns of b; how they are copied is found here
  T* c;
  const T* bias;  // null, or one number a column
  int64_t bias_stride;

  ProductSizes Sizes() const { return {m, n, k, batch, chain, sizeof(T)}; }
};

/// The product by a plan.
template <class T>
void Product(const Place& place, const ProductCall<T>& call, const ProductPlan& plan) {
  MatrixProductArgs<T> args{call.a, call.b, Chunks(call.k, call.chain)};
  MatrixSink<T>& sink = args.sink;
  sink.c = call.c, sink.bias = call.bias;
  sink.row_stride = call.n, sink.col_stride = 1, sink.matrix_stride = call.m * call.n;
  sink.bias_col_stride = call.bias_stride;
  if (plan.transposed) {
    std::swap(args.left, args.right);
    std::swap(sink.row_stride, sink.col_stride);
    std::swap(sink.bias_row_stride, sink.bias_col_stride);
  }
  sink.SetPieces();
  args.left.way = WayOf(args.left), args.right.way = WayOf(args.right);
  RunProduct(place, args, call.Sizes(), plan);
}

template <class T>
void Product(const Place& place, const ProductCall<T>& call) {
  Product(place, call, PlanProduct(call.Sizes(), Multiprocessors(place)));
}

}  // namespace repdl::cuda

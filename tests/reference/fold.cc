// SPDX-License-Identifier: MIT
// Sums of elements that were copied to several places.
#include <array>

#include "op.h"

namespace repdl::reference {
namespace {

/// A place in three dimensions; fewer lack the first ones.
using At = std::array<int64_t, 3>;

/// Calls body(place) for each place of these sizes, in row-major order.
template <class Body>
void ForPlaces(const At& sizes, const Body& body) {
  At at;
  for (at[0] = 0; at[0] < sizes[0]; ++at[0]) {
    for (at[1] = 0; at[1] < sizes[1]; ++at[1]) {
      for (at[2] = 0; at[2] < sizes[2]; ++at[2]) body(at);
    }
  }
}

int64_t Number(const At& at, const At& sizes) { return (at[0] * sizes[1] + at[1]) * sizes[2] + at[2]; }

/// `list`, which may have one number for all, with `fill` for the dimensions that are not there.
At Three(const IntList& list, int rank, int64_t fill) {
  At three = {fill, fill, fill};
  for (int i = 0; i < rank; ++i) three[3 - rank + i] = list[list.size() == 1 ? 0 : i];
  return three;
}

/// The element that padding copies to place `at`, which counts from the first element.
int64_t Copied(int64_t at, int64_t size, bool reflects) {
  if (at < 0) return reflects ? -at : 0;
  if (at >= size) return reflects ? 2 * (size - 1) - at : size - 1;
  return at;
}

}  // namespace

template <class T>
static Results RunFold(const Case& test_case) {
  const Arguments args(test_case);
  const Numbers<T> input = args.NumbersOf<T>("input");
  const int rank = args.List("output_size").size();
  const At sizes = Three(args.List("output_size"), rank, 1), kernel = Three(args.List("kernel_size"), rank, 1);
  const At stride = Three(args.List("stride"), rank, 1), padding = Three(args.List("padding"), rank, 0);
  const At dilation = Three(args.List("dilation"), rank, 1);
  At blocks;
  for (int i = 0; i < 3; ++i) {
    blocks[i] = (sizes[i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1) / stride[i] + 1;
  }
  const int64_t places = sizes[0] * sizes[1] * sizes[2], many = blocks[0] * blocks[1] * blocks[2];
  const int64_t kernels = kernel[0] * kernel[1] * kernel[2];
  Numbers<T> output(Size(args.OutputShape()), T{0});
  for (int64_t plane = 0; plane < static_cast<int64_t>(output.size()) / places; ++plane) {
    ForPlaces(kernel, [&](const At& u) {
      ForPlaces(blocks, [&](const At& k) {
        At at;
        for (int i = 0; i < 3; ++i) {
          at[i] = k[i] * stride[i] - padding[i] + u[i] * dilation[i];
          if (at[i] < 0 || at[i] >= sizes[i]) return;
        }
        T& sum = output[plane * places + Number(at, sizes)];
        sum = sum + input[(plane * kernels + Number(u, kernel)) * many + Number(k, blocks)];
      });
    });
  }
  Results results;
  Append(results, output, args.OutputShape());
  return results;
}

template <class T>
static Results RunUnfoldGrad(const Case& test_case) {
  const Arguments args(test_case);
  const Numbers<T> grad = args.NumbersOf<T>("grad_output");
  const IntList shape = args.Shape("grad_output");
  const int64_t windows = shape[shape.size() - 2], size = shape[shape.size() - 1];
  const int64_t length = args.Int("length"), step = args.Int("step");
  Numbers<T> output(Size(args.OutputShape()), T{0});
  for (int64_t i = 0; i < static_cast<int64_t>(grad.size()); ++i) {
    const int64_t plane = i / size / windows, window = i / size % windows;
    T& sum = output[plane * length + window * step + i % size];
    sum = sum + grad[i];
  }
  Results results;
  Append(results, output, args.OutputShape());
  return results;
}

template <class T>
static Results RunPadGrad(const Case& test_case) {
  const Arguments args(test_case);
  const Numbers<T> grad = args.NumbersOf<T>("grad_output");
  const IntList shape = args.Shape("grad_output"), padding = args.List("padding"), result = args.OutputShape();
  const int rank = padding.size() / 2;
  const int64_t given = args.Int("dim"), first = given < 0 ? given + shape.size() : given;
  At from = {1, 1, 1}, to = {1, 1, 1}, before = {0, 0, 0};
  int64_t planes = 1, inner = 1;
  for (int i = 0; i < shape.size(); ++i) {
    if (i < first) {
      planes *= shape[i];
    } else if (i >= first + rank) {
      inner *= shape[i];
    } else {
      const int own = i - static_cast<int>(first), axis = 3 - rank + own;
      from[axis] = shape[i], to[axis] = result[i], before[axis] = padding[2 * own];
    }
  }
  Numbers<T> output(Size(result), T{0});
  for (int64_t plane = 0; plane < planes; ++plane) {
    ForPlaces(from, [&](const At& at) {
      At source;
      for (int i = 0; i < 3; ++i) source[i] = Copied(at[i] - before[i], to[i], args.Text("mode") == "reflect");
      for (int64_t c = 0; c < inner; ++c) {
        T& sum = output[(plane * to[0] * to[1] * to[2] + Number(source, to)) * inner + c];
        sum = sum + grad[(plane * from[0] * from[1] * from[2] + Number(at, from)) * inner + c];
      }
    });
  }
  Results results;
  Append(results, output, result);
  return results;
}

static const Op kOps[] = {{"fold", REPDL_EITHER(RunFold)},
                          {"unfold_grad", REPDL_EITHER(RunUnfoldGrad)},
                          {"pad_grad", REPDL_EITHER(RunPadGrad)}};

}  // namespace repdl::reference

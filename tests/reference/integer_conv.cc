// SPDX-License-Identifier: MIT
// Convolution of integers.
#include <array>

#include "op.h"

namespace repdl::reference {
namespace {

/// Depth, height and width; fewer dimensions lack the first ones, of which there is one place.
using Axes = std::array<int64_t, 3>;

Axes Three(const IntList& list, int first, int rank, int64_t fill) {
  Axes axes = {fill, fill, fill};
  for (int i = 0; i < rank; ++i) axes[3 - rank + i] = list[list.size() == 1 ? 0 : first + i];
  return axes;
}

template <class Body>
void ForPlaces(const Axes& sizes, const Body& body) {
  Axes at;
  for (at[0] = 0; at[0] < sizes[0]; ++at[0]) {
    for (at[1] = 0; at[1] < sizes[1]; ++at[1]) {
      for (at[2] = 0; at[2] < sizes[2]; ++at[2]) body(at);
    }
  }
}

int64_t Number(const Axes& at, const Axes& sizes) { return (at[0] * sizes[1] + at[1]) * sizes[2] + at[2]; }

}  // namespace

static Results RunIntegerConvolution(const Case& test_case) {
  const Arguments args(test_case);
  const IntList in = args.Shape("input"), kernel = args.Shape("weight"), out = args.OutputShape();
  const int rank = in.size() - 2;
  const Indices input = args.IndicesOf("input"), weight = args.IndicesOf("weight");
  const bool transposed = args.Flag("transposed");
  const int64_t groups = args.Int("groups"), c_group = in[1] / groups, o_group = out[1] / groups;
  const Axes from = Three(in, 2, rank, 1), taps = Three(kernel, 2, rank, 1), to = Three(out, 2, rank, 1);
  const Axes stride = Three(args.List("stride"), 0, rank, 1), padding = Three(args.List("padding"), 0, rank, 0);
  const Axes dilation = Three(args.List("dilation"), 0, rank, 1);
  // Additions and products of unsigned numbers are modulo 2^64.
  std::vector<uint64_t> sums(static_cast<size_t>(Size(out)), 0);
  if (args.Has("bias")) {
    const Indices bias = args.IndicesOf("bias");
    const int64_t places = to[0] * to[1] * to[2];
    for (size_t i = 0; i < sums.size(); ++i) {
      sums[i] = static_cast<uint64_t>(bias[static_cast<int64_t>(i) / places % out[1]]);
    }
  }
  for (int64_t n = 0; n < in[0]; ++n) {
    for (int64_t c = 0; c < in[1]; ++c) {
      for (int64_t r = 0; r < o_group; ++r) {
        const int64_t g = c / c_group, o = g * o_group + r;
        const int64_t row = transposed ? c * o_group + r : o * c_group + c % c_group;
        ForPlaces(from, [&](const Axes& x) {
          ForPlaces(taps, [&](const Axes& u) {
            Axes q;  // where the product of this input and this place of the kernel goes
            for (int i = 0; i < 3; ++i) {
              const int64_t offset = u[i] * dilation[i] - padding[i];
              if (transposed) {
                q[i] = x[i] * stride[i] + offset;
              } else {
                if ((x[i] - offset) % stride[i] != 0) return;
                q[i] = (x[i] - offset) / stride[i];
              }
              if (q[i] < 0 || q[i] >= to[i]) return;
            }
            const auto a =
                static_cast<uint64_t>(input[(n * in[1] + c) * from[0] * from[1] * from[2] + Number(x, from)]);
            const auto b = static_cast<uint64_t>(weight[row * taps[0] * taps[1] * taps[2] + Number(u, taps)]);
            sums[(n * out[1] + o) * to[0] * to[1] * to[2] + Number(q, to)] += a * b;
          });
        });
      }
    }
  }
  Results results;
  Append(results, Indices(sums.begin(), sums.end()), out);
  return results;
}

static const Op kOps[] = {{"integer_convolution", RunIntegerConvolution}};

}  // namespace repdl::reference

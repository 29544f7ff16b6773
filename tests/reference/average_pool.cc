// SPDX-License-Identifier: MIT
// Averages of windows.
#include "op.h"

namespace repdl::reference {
namespace {

/// The elements of a window along one dimension, and the number that its average counts.
struct Window {
  std::vector<int64_t> elements;
  int64_t count = 1;
};

std::vector<Window> Windows(const Arguments& args, int i, int64_t size, int64_t windows) {
  const int64_t kernel = args.List("kernel_size")[i], padding = args.List("padding")[i];
  std::vector<Window> found(windows);
  for (int64_t k = 0; k < windows; ++k) {
    int64_t padded = 0;
    for (int64_t at = k * args.List("stride")[i] - padding, end = at + kernel; at < end; ++at) {
      if (at < size + padding) ++padded;
      if (at >= 0 && at < size) found[k].elements.push_back(at);
    }
    found[k].count = args.Flag("count_include_pad") ? padded : static_cast<int64_t>(found[k].elements.size());
  }
  return found;
}

/// Calls body(window, elements, number) for each window, with its elements in row-major order.
/// Windows and elements are numbered in row-major order of (before, pooled, behind).
template <class Body>
void ForElements(const Arguments& args, const IntList& in, const IntList& out, const Body& body) {
  const int rank = args.List("kernel_size").size();
  const int64_t given = args.Int("dim"), first = given < 0 ? given + in.size() : given;
  std::vector<Window> along[3] = {{{{0}, 1}}, {{{0}, 1}}, {{{0}, 1}}};
  int64_t sizes[3] = {1, 1, 1}, before = 1, behind = 1;
  for (int i = 0; i < in.size(); ++i) {
    if (i < first) before *= in[i];
    if (i >= first + rank) behind *= in[i];
  }
  for (int i = 0; i < rank; ++i) {
    const int axis = 3 - rank + i;
    sizes[axis] = in[static_cast<int>(first) + i];
    along[axis] = Windows(args, i, sizes[axis], out[static_cast<int>(first) + i]);
  }
  const int64_t divisor = args.Int("divisor_override");
  for (int64_t plane = 0; plane < before; ++plane) {
    int64_t window = plane * static_cast<int64_t>(along[0].size() * along[1].size() * along[2].size());
    for (const Window& deep : along[0]) {
      for (const Window& high : along[1]) {
        for (const Window& wide : along[2]) {
          const int64_t number = divisor != 0 ? divisor : deep.count * high.count * wide.count;
          for (int64_t inner = 0; inner < behind; ++inner) {
            std::vector<int64_t> elements;
            for (int64_t d : deep.elements) {
              for (int64_t h : high.elements) {
                for (int64_t w : wide.elements) {
                  const int64_t element = ((plane * sizes[0] + d) * sizes[1] + h) * sizes[2] + w;
                  elements.push_back(element * behind + inner);
                }
              }
            }
            body(window * behind + inner, elements, number);
          }
          ++window;
        }
      }
    }
  }
}

}  // namespace

template <class T>
static Results RunAvgPool(const Case& test_case) {
  const Arguments args(test_case);
  const Numbers<T> input = args.NumbersOf<T>("input");
  const IntList shape = args.OutputShape();
  Numbers<T> output(Size(shape));
  ForElements(args, args.Shape("input"), shape,
              [&](int64_t window, const std::vector<int64_t>& elements, int64_t number) {
                T sum = 0;
                for (int64_t element : elements) sum = sum + input[element];
                output[window] = sum / static_cast<T>(number);
              });
  Results results;
  Append(results, output, shape);
  return results;
}

template <class T>
static Results RunAvgPoolGrad(const Case& test_case) {
  const Arguments args(test_case);
  const Numbers<T> grad = args.NumbersOf<T>("grad_output");
  const IntList shape = args.OutputShape();
  Numbers<T> sums(Size(shape), T{0});
  ForElements(args, shape, args.Shape("grad_output"),
              [&](int64_t window, const std::vector<int64_t>& elements, int64_t number) {
                const T share = grad[window] / static_cast<T>(number);
                for (int64_t element : elements) sums[element] = sums[element] + share;
              });
  Results results;
  Append(results, sums, shape);
  return results;
}

static const Op kOps[] = {{"avg_pool", REPDL_EITHER(RunAvgPool)}, {"avg_pool_grad", REPDL_EITHER(RunAvgPoolGrad)}};

}  // namespace repdl::reference

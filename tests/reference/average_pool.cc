// SPDX-License-Identifier: MIT
// Averages of windows.
#include "op.h"

namespace repdl::reference {
namespace {

constexpr std::string_view kKernelSize = "kernel_size";

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

/// The part of the whole that each window of an adaptive pool has.
std::vector<Window> Parts(int64_t size, int64_t parts) {
  std::vector<Window> found(parts);
  for (int64_t k = 0; k < parts; ++k) {
    for (int64_t at = 0; at < size; ++at) {
      // Inside of [k / parts, (k + 1) / parts) of the whole, if only with a piece of it.
      if ((at + 1) * parts > k * size && at * parts < (k + 1) * size) found[k].elements.push_back(at);
    }
    found[k].count = static_cast<int64_t>(found[k].elements.size());
  }
  return found;
}

/// Calls body(window, elements, number) for each window, with its elements in row-major order.
/// Windows and elements are numbered in row-major order of (before, pooled, behind).
/// `sizes_name`: the argument with the sizes of an adaptive pool; of others kernel_size.
template <class Body>
void ForElements(const Arguments& args, std::string_view sizes_name, const IntList& in, const IntList& out,
                 const Body& body) {
  const bool adaptive = sizes_name != kKernelSize;
  const int rank = args.List(sizes_name).size();
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
    const int64_t windows = out[static_cast<int>(first) + i];
    along[axis] = adaptive ? Parts(sizes[axis], windows) : Windows(args, i, sizes[axis], windows);
  }
  const int64_t divisor = adaptive ? 0 : args.Int("divisor_override");
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

template <class T>
Results Averages(const Case& test_case, std::string_view sizes_name) {
  const Arguments args(test_case);
  const Numbers<T> input = args.NumbersOf<T>("input");
  const IntList shape = args.OutputShape();
  Numbers<T> output(Size(shape));
  ForElements(args, sizes_name, args.Shape("input"), shape,
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
Results Gradients(const Case& test_case, std::string_view sizes_name) {
  const Arguments args(test_case);
  const Numbers<T> grad = args.NumbersOf<T>("grad_output");
  const IntList shape = args.OutputShape();
  Numbers<T> sums(Size(shape), T{0});
  ForElements(args, sizes_name, shape, args.Shape("grad_output"),
              [&](int64_t window, const std::vector<int64_t>& elements, int64_t number) {
                const T share = grad[window] / static_cast<T>(number);
                for (int64_t element : elements) sums[element] = sums[element] + share;
              });
  Results results;
  Append(results, sums, shape);
  return results;
}

}  // namespace

template <class T>
static Results RunAvgPool(const Case& test_case) {
  return Averages<T>(test_case, kKernelSize);
}

template <class T>
static Results RunAvgPoolGrad(const Case& test_case) {
  return Gradients<T>(test_case, kKernelSize);
}

template <class T>
static Results RunAdaptive(const Case& test_case) {
  return Averages<T>(test_case, "output_size");
}

template <class T>
static Results RunAdaptiveGrad(const Case& test_case) {
  return Gradients<T>(test_case, "input_size");
}

static const Op kOps[] = {{"avg_pool", REPDL_EITHER(RunAvgPool)},
                          {"avg_pool_grad", REPDL_EITHER(RunAvgPoolGrad)},
                          {"adaptive_avg_pool", REPDL_EITHER(RunAdaptive)},
                          {"adaptive_avg_pool_grad", REPDL_EITHER(RunAdaptiveGrad)}};

}  // namespace repdl::reference

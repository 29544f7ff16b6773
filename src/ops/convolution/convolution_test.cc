// SPDX-License-Identifier: MIT
#include "repdl/ops/convolution.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "cpp/on_target.h"
#include "repdl/target.h"
#include "repdl/threads.h"

namespace repdl {
namespace {

/// A dense tensor, row-major or with its channels, dimension 1, as the last in memory.
struct Images {
  std::vector<float> numbers;
  TensorView view;

  Images(const IntList& shape, bool channels_last) : view(MakeView(static_cast<float*>(nullptr), shape)) {
    numbers.assign(static_cast<size_t>(view.numel()), -1.0f);
    view.data = numbers.data();
    if (!channels_last) return;
    int64_t stride = shape[1];
    for (int dim = shape.size() - 1; dim >= 2; --dim) view.strides[dim] = stride, stride *= shape[dim];
    view.strides[1] = 1, view.strides[0] = stride;
  }

  /// The bits of element number i, counted row-major.
  float& At(int64_t i) {
    float* at = numbers.data();
    for (int dim = view.rank() - 1; dim >= 0; --dim) {
      at += i % view.shape[dim] * view.strides[dim];
      i /= view.shape[dim];
    }
    return *at;
  }
};

/// Mostly normal numbers, and some that absent terms must not meet.
Images Random(const IntList& shape, bool channels_last, unsigned seed, int percent_special) {
  Images images(shape, channels_last);
  std::mt19937 random(seed);
  constexpr float kSpecial[] = {0.0f, -0.0f, 1e-30f, -1e-30f, 3e-39f, __builtin_inff()};
  for (int64_t i = 0; i < images.view.numel(); ++i) {
    const float number = static_cast<float>(static_cast<int32_t>(random())) * 0x1p-31f;
    const bool special = static_cast<int>(random() % 100) < percent_special;
    images.At(i) = special ? kSpecial[random() % 6] : number;
  }
  return images;
}

struct Call {
  IntList input, weight;
  PerAxis stride, padding, dilation;
  bool transposed;
  int64_t groups;
};

const Call kCalls[] = {
    {{2, 19, 7, 9}, {23, 19, 3, 3}, {1}, {1}, {1}, false, 1},
    {{3, 33, 6, 5}, {17, 33, 3, 2}, {2}, {1}, {1}, false, 1},
    {{1, 40, 18, 17}, {9, 40, 1, 1}, {1}, {0}, {1}, false, 1},
    {{2, 12, 9, 8}, {10, 6, 3, 3}, {1}, {2}, {2}, false, 2},
    {{2, 6, 8, 8}, {6, 1, 3, 3}, {1}, {1}, {1}, false, 6},
    {{1, 1, 28, 28}, {5, 1, 3, 3}, {1}, {1}, {1}, false, 1},
    {{2, 20, 5, 4}, {20, 18, 4, 4}, {2}, {1}, {1}, true, 1},
    {{1, 5, 5, 6}, {5, 3, 2, 2}, {2}, {0}, {1}, true, 1},
    {{1, 18, 4, 5}, {18, 17, 1, 1}, {2}, {0}, {1}, true, 1},
    {{2, 18, 3, 4, 5}, {16, 18, 2, 3, 3}, {1}, {1}, {1}, false, 1},
    {{2, 300, 4, 4}, {2, 300, 3, 3}, {1}, {1}, {1}, false, 1},
    // Several threads take rows and columns of the product; images together, and one by one.
    {{2, 40, 9, 9}, {40, 30, 2, 2}, {2}, {0}, {1}, true, 1},
    {{1, 40, 12, 12}, {40, 30, 2, 2}, {2}, {0}, {1}, true, 1},
    // No place is read twice, and places at the ends are read by none.
    {{3, 5, 17, 26}, {19, 5, 3, 5}, {3, 5}, {0}, {1}, false, 1},
    {{2, 9, 3, 21}, {7, 9, 2, 4}, {2, 6}, {0}, {1}, false, 1},
    {{2, 3, 8, 9, 12}, {6, 3, 2, 2, 6}, {2, 3, 6}, {0}, {1}, false, 1},
    // Fewer taps than output channels.
    {{3, 1, 29, 30}, {35, 1, 3, 3}, {1}, {1}, {1}, false, 1},
    {{2, 2, 9, 37}, {70, 1, 2, 3}, {2}, {1}, {1}, false, 2},
    {{2, 3, 700}, {40, 3, 1}, {1}, {0}, {1}, false, 1},
    // Lines share the room between them: of one side more than of the other, and where the sources' ends are not read.
    {{2, 17, 30, 28}, {20, 17, 3, 3}, {1}, {1}, {1}, false, 1},
    {{2, 3, 20, 30}, {16, 3, 4, 6}, {1}, {2, 3}, {1, 2}, false, 1},
    {{1, 4, 6, 7, 20}, {5, 4, 3, 1, 5}, {1}, {0, 0, 2}, {1}, false, 1},
    {{2, 4, 30, 9}, {3, 4, 3, 2}, {3, 1}, {1}, {1}, false, 1},
    // A lane for each channel: few of them and many, lines that read no source, several bands of lines.
    {{2, 13, 7, 7}, {13, 1, 7, 7}, {1}, {3}, {1}, false, 13},
    {{3, 31, 4, 5}, {31, 1, 3, 3}, {1}, {4, 1}, {1}, false, 31},
    {{2, 40, 14, 9}, {40, 1, 5, 3}, {2, 1}, {2, 1}, {1, 2}, false, 40},
    {{2, 16, 13, 14}, {16, 1, 5, 5}, {2}, {2}, {1}, false, 16},
    {{1, 24, 6, 7, 5}, {24, 1, 3, 3, 2}, {1}, {1}, {1, 2, 1}, false, 24},
    {{2, 32, 5, 6}, {32, 1, 4, 4}, {2}, {1}, {1}, true, 32},
    {{1, 16, 110, 60}, {16, 1, 9, 9}, {1}, {4}, {1}, false, 16},
    {{2, 30, 45}, {30, 1, 15}, {1}, {7}, {1}, false, 30},
    // The same with strides: a place that no tap reads, phases without taps, bands of all phases, vectors read together.
    {{2, 20, 7, 8}, {20, 1, 1, 1}, {2}, {0}, {1}, false, 20},
    {{2, 32, 8, 9}, {32, 1, 2, 2}, {3}, {1}, {1}, false, 32},
    {{1, 16, 120, 70}, {16, 1, 5, 5}, {2}, {2}, {1}, false, 16},
    {{2, 70, 19, 18}, {70, 1, 3, 3}, {2}, {1}, {1}, false, 70},
    {{1, 17, 5, 6, 7}, {17, 1, 2, 3, 3}, {1, 2, 3}, {1}, {1}, false, 17},
    {{2, 8, 1, 9}, {8, 1, 3, 1}, {4, 1}, {1, 0}, {1}, false, 8},
    {{2, 8, 1, 1}, {8, 1, 3, 3}, {2}, {1}, {1}, false, 8},
};

enum class Which { kOutput, kByInput, kByWeight };

/// The bits of a call's result, row-major, with operands and result laid out one way.
std::vector<uint32_t> BitsOf(const Call& call, Which which, int percent_special, bool channels_last, bool result_last) {
  const PerAxis more{0};
  Images input = Random(call.input, channels_last, 1, percent_special);
  Images weight = Random(call.weight, channels_last, 2, percent_special);
  const Specs specs = InferConvolution(input.view, weight.view, {}, call.stride, call.padding, call.dilation,
                                       call.transposed, more, call.groups, Order::kBlocked);
  Images bias = Random({specs.spec[0].shape[1]}, false, 4, 0);
  Images grad = Random(specs.spec[0].shape, channels_last, 3, percent_special);
  Images result(which == Which::kOutput    ? specs.spec[0].shape
                : which == Which::kByInput ? call.input
                                           : call.weight,
                result_last);
  switch (which) {
    case Which::kOutput:
      Convolution(input.view, weight.view, bias.view, call.stride, call.padding, call.dilation, call.transposed, more,
                  call.groups, Order::kBlocked, result.view);
      break;
    case Which::kByInput:
      ConvolutionGradInput(call.input, weight.view, grad.view, call.stride, call.padding, call.dilation,
                           call.transposed, more, call.groups, Order::kBlocked, result.view);
      break;
    case Which::kByWeight:
      ConvolutionGradKernel(input.view, call.weight, grad.view, call.stride, call.padding, call.dilation,
                            call.transposed, more, call.groups, Order::kBlocked, result.view);
  }
  std::vector<uint32_t> bits;
  for (int64_t i = 0; i < result.view.numel(); ++i) {
    const float number = result.At(i);
    bits.push_back(0x7fc00000);  // any NaN
    if (number == number) std::memcpy(&bits.back(), &number, sizeof(number));
  }
  return bits;
}

class ConvolutionOnTarget : public testing::OnTarget {};

TEST_P(ConvolutionOnTarget, HasTheSameBitsWithChannelsLast) {
  for (const Call& call : kCalls) {
    for (const Which which : {Which::kOutput, Which::kByInput, Which::kByWeight}) {
      for (const int percent_special : {0, 2}) {
        const std::vector<uint32_t> expected = BitsOf(call, which, percent_special, false, false);
        for (const bool channels_last : {false, true}) {
          for (const bool result_last : {false, true}) {
            EXPECT_EQ(BitsOf(call, which, percent_special, channels_last, result_last), expected)
                << "call " << &call - kCalls << ", result " << static_cast<int>(which) << ", " << percent_special << " "
                << channels_last << result_last;
          }
        }
      }
    }
  }
}

TEST_P(ConvolutionOnTarget, HasTheSameBitsWithAnyThreadsAsOnScalar) {
  for (const Call& call : kCalls) {
    for (const Which which : {Which::kOutput, Which::kByInput, Which::kByWeight}) {
      for (const int percent_special : {0, 2}) {
        SetTarget("scalar");
        SetNumThreads(1);
        const std::vector<uint32_t> expected = BitsOf(call, which, percent_special, false, false);
        SetTarget(GetParam());
        for (const int threads : {1, 2, 3, 7}) {
          SetNumThreads(threads);
          EXPECT_EQ(BitsOf(call, which, percent_special, false, false), expected)
              << "call " << &call - kCalls << ", result " << static_cast<int>(which) << ", " << percent_special
              << ", threads " << threads;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, ConvolutionOnTarget, ::testing::ValuesIn(SupportedTargets()), testing::NameOfTarget);

}  // namespace
}  // namespace repdl

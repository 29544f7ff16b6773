// SPDX-License-Identifier: MIT
#include "conv.h"

#include "op.h"
#include "parallel.h"
#include "sums.h"

namespace repdl::reference {
namespace {

constexpr int64_t kAbsent = -1;

/// By place of the output and of the kernel, the place of the input that they meet, or kAbsent where that lies outside.
class Meetings {
 public:
  explicit Meetings(const ConvShape& s) : kernel_(Count(s.kernel)), input_(Count(s.output) * kernel_, kAbsent) {
    for (int64_t q = 0; q < Count(s.output); ++q) {
      for (int64_t u = 0; u < kernel_; ++u) {
        const Extents output = PlaceOf(q, s.output), kernel = PlaceOf(u, s.kernel);
        int64_t met = 0;
        for (int d = 0; d < 3 && met != kAbsent; ++d) {
          const int64_t place = output[d] * s.stride[d] - s.padding[d] + kernel[d] * s.dilation[d];
          met = 0 <= place && place < s.input[d] ? met * s.input[d] + place : kAbsent;
        }
        input_[q * kernel_ + u] = met;
      }
    }
  }
  int64_t InputOf(int64_t output, int64_t kernel) const { return input_[output * kernel_ + kernel]; }

  static int64_t Count(const Extents& sizes) { return sizes[0] * sizes[1] * sizes[2]; }

 private:
  static Extents PlaceOf(int64_t index, const Extents& sizes) {
    return {index / sizes[2] / sizes[1], index / sizes[2] % sizes[1], index % sizes[2]};
  }

  int64_t kernel_;
  Indices input_;
};

}  // namespace

template <class T>
Numbers<T> Conv(const Numbers<T>& input, const Numbers<T>& weight, const Numbers<T>& bias, const ConvShape& s,
                Order order) {
  const Meetings meetings(s);
  const int64_t places = Meetings::Count(s.input), taps = Meetings::Count(s.kernel), size = Meetings::Count(s.output);
  Numbers<T> output(s.samples * s.outputs * size);
  ForEach(s.samples * s.outputs, [&](int64_t plane) {
    const int64_t n = plane / s.outputs;
    const int64_t o = plane % s.outputs;
    const int64_t first_channel = o / s.group_outputs() * s.group_channels();
    for (int64_t q = 0; q < size; ++q) {
      ProductOf<T> product(order);
      for (int64_t c = 0; c < s.group_channels(); ++c) {
        const T* image = input.data() + (n * s.channels + first_channel + c) * places;
        const T* kernel = weight.data() + (o * s.group_channels() + c) * taps;
        for (int64_t u = 0; u < taps; ++u) {
          const int64_t met = meetings.InputOf(q, u);
          if (met == kAbsent) {
            product.Skip();
          } else {
            product.Add(image[met], kernel[u]);
          }
        }
      }
      T value = product.Result();
      if (!bias.empty()) value = value + bias[o];
      output[plane * size + q] = value;
    }
  });
  return output;
}

template <class T>
Numbers<T> ConvGradInput(const Numbers<T>& weight, const Numbers<T>& grad_output, const Numbers<T>& bias,
                         const ConvShape& s, Order order) {
  const Meetings meetings(s);
  const int64_t places = Meetings::Count(s.input), taps = Meetings::Count(s.kernel), size = Meetings::Count(s.output);
  // By place of the input and of the kernel, that of the output: there is at most one.
  Indices output_of(places * taps, kAbsent);
  for (int64_t q = 0; q < size; ++q) {
    for (int64_t u = 0; u < taps; ++u) {
      const int64_t met = meetings.InputOf(q, u);
      if (met != kAbsent) output_of[met * taps + u] = q;
    }
  }
  Numbers<T> grad_input(s.samples * s.channels * places);
  ForEach(s.samples * s.channels, [&](int64_t plane) {
    const int64_t n = plane / s.channels;
    const int64_t group = plane % s.channels / s.group_channels();
    const int64_t c = plane % s.channels % s.group_channels();
    const int64_t first_output = group * s.group_outputs();
    for (int64_t x = 0; x < places; ++x) {
      ProductOf<T> product(order);
      for (int64_t o = first_output; o < first_output + s.group_outputs(); ++o) {
        const T* grad = grad_output.data() + (n * s.outputs + o) * size;
        const T* kernel = weight.data() + (o * s.group_channels() + c) * taps;
        for (int64_t u = 0; u < taps; ++u) {
          const int64_t q = output_of[x * taps + u];
          if (q == kAbsent) {
            product.Skip();
          } else {
            product.Add(grad[q], kernel[u]);
          }
        }
      }
      T value = product.Result();
      if (!bias.empty()) value = value + bias[plane % s.channels];
      grad_input[plane * places + x] = value;
    }
  });
  return grad_input;
}

template <class T>
Numbers<T> ConvGradKernel(const Numbers<T>& input, const Numbers<T>& grad_output, const ConvShape& s, Order order) {
  const Meetings meetings(s);
  const int64_t places = Meetings::Count(s.input), taps = Meetings::Count(s.kernel), size = Meetings::Count(s.output);
  Numbers<T> grad_weight(s.outputs * s.group_channels() * taps);
  ForEach(s.outputs * s.group_channels(), [&](int64_t plane) {
    const int64_t o = plane / s.group_channels();
    const int64_t channel = o / s.group_outputs() * s.group_channels() + plane % s.group_channels();
    for (int64_t u = 0; u < taps; ++u) {
      ProductOf<T> product(order);
      for (int64_t n = 0; n < s.samples; ++n) {
        const T* grad = grad_output.data() + (n * s.outputs + o) * size;
        const T* image = input.data() + (n * s.channels + channel) * places;
        for (int64_t q = 0; q < size; ++q) {
          const int64_t met = meetings.InputOf(q, u);
          if (met == kAbsent) {
            product.Skip();
          } else {
            product.Add(grad[q], image[met]);
          }
        }
      }
      grad_weight[plane * taps + u] = product.Result();
    }
  });
  return grad_weight;
}

template Floats Conv(const Floats& input, const Floats& weight, const Floats& bias, const ConvShape& s, Order order);
template Floats ConvGradInput(const Floats& weight, const Floats& grad_output, const Floats& bias, const ConvShape& s,
                              Order order);
template Floats ConvGradKernel(const Floats& input, const Floats& grad_output, const ConvShape& s, Order order);

namespace {

/// A setting of each dimension, the first ones `absent`, of `rank` numbers or one that stands for all.
Extents Each(const IntList& values, int rank, int64_t absent) {
  Extents sizes = {absent, absent, absent};
  for (int d = 0; d < rank; ++d) sizes[3 - rank + d] = values[values.size() == 1 ? 0 : d];
  return sizes;
}

/// From the third number of a shape on.
Extents PlacesOf(const IntList& shape) {
  Extents sizes = {1, 1, 1};
  for (int d = 2; d < shape.size(); ++d) sizes[5 - shape.size() + d - 2] = shape[d];
  return sizes;
}

/// Of a transposed convolution, `input` and `output` are exchanged by the caller.
ConvShape ReadShape(const Arguments& args, const IntList& input, const IntList& weight, const IntList& output) {
  const int rank = input.size() - 2;
  ConvShape s;
  s.samples = input[0];
  s.channels = input[1];
  s.outputs = weight[0];
  s.input = PlacesOf(input);
  s.kernel = PlacesOf(weight);
  s.output = PlacesOf(output);
  s.stride = Each(args.List("stride"), rank, 1);
  s.padding = Each(args.List("padding"), rank, 0);
  s.dilation = Each(args.List("dilation"), rank, 1);
  s.groups = args.Int("groups");
  return s;
}

}  // namespace

template <class T>
static Results RunForward(const Case& test_case, bool transposed) {
  const Arguments args(test_case);
  const IntList shape = args.OutputShape(), input = args.Shape("input"), weight = args.Shape("weight");
  const Numbers<T> x = args.NumbersOf<T>("input"), w = args.NumbersOf<T>("weight"), b = args.NumbersOf<T>("bias");
  Results results;
  if (transposed) {
    Append(results, ConvGradInput<T>(w, x, b, ReadShape(args, shape, weight, input), args.TheOrder()), shape);
  } else {
    Append(results, Conv<T>(x, w, b, ReadShape(args, input, weight, shape), args.TheOrder()), shape);
  }
  return results;
}

template <class T>
static Results RunGradInput(const Case& test_case, bool transposed) {
  const Arguments args(test_case);
  const IntList shape = args.List("input_shape"), weight = args.Shape("weight"), output = args.Shape("grad_output");
  const Numbers<T> w = args.NumbersOf<T>("weight"), grad = args.NumbersOf<T>("grad_output");
  Results results;
  if (transposed) {
    Append(results, Conv<T>(grad, w, {}, ReadShape(args, output, weight, shape), args.TheOrder()), shape);
  } else {
    Append(results, ConvGradInput<T>(w, grad, {}, ReadShape(args, shape, weight, output), args.TheOrder()), shape);
  }
  return results;
}

template <class T>
static Results RunGradKernel(const Case& test_case, bool transposed) {
  const Arguments args(test_case);
  const IntList shape = args.List("weight_shape"), input = args.Shape("input"), output = args.Shape("grad_output");
  const Numbers<T> x = args.NumbersOf<T>("input"), grad = args.NumbersOf<T>("grad_output");
  Results results;
  if (transposed) {
    Append(results, ConvGradKernel<T>(grad, x, ReadShape(args, output, shape, input), args.TheOrder()), shape);
  } else {
    Append(results, ConvGradKernel<T>(x, grad, ReadShape(args, input, shape, output), args.TheOrder()), shape);
  }
  return results;
}

template <class T>
static Results RunConv2d(const Case& test_case) {
  return RunForward<T>(test_case, false);
}
template <class T>
static Results RunConv2dGradInput(const Case& test_case) {
  return RunGradInput<T>(test_case, false);
}
template <class T>
static Results RunConv2dGradKernel(const Case& test_case) {
  return RunGradKernel<T>(test_case, false);
}
template <class T>
static Results RunConvolution(const Case& test_case) {
  return RunForward<T>(test_case, Arguments(test_case).Flag("transposed"));
}
template <class T>
static Results RunConvolutionGradInput(const Case& test_case) {
  return RunGradInput<T>(test_case, Arguments(test_case).Flag("transposed"));
}
template <class T>
static Results RunConvolutionGradKernel(const Case& test_case) {
  return RunGradKernel<T>(test_case, Arguments(test_case).Flag("transposed"));
}

static const Op kOps[] = {{"conv2d", REPDL_EITHER(RunConv2d)},
                          {"conv2d_grad_input", REPDL_EITHER(RunConv2dGradInput)},
                          {"conv2d_grad_kernel", REPDL_EITHER(RunConv2dGradKernel)},
                          {"convolution", REPDL_EITHER(RunConvolution)},
                          {"convolution_grad_input", REPDL_EITHER(RunConvolutionGradInput)},
                          {"convolution_grad_kernel", REPDL_EITHER(RunConvolutionGradKernel)}};

}  // namespace repdl::reference

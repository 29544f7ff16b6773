// SPDX-License-Identifier: MIT
#include "conv.h"

#include "op.h"
#include "parallel.h"
#include "sums.h"

namespace repdl::reference {
namespace {

constexpr int64_t kAbsent = -1;

/// One direction of a convolution: (*this)(p, u) is the input place under output place p and kernel place u,
/// or kAbsent where that lies outside the image.
class InputPlaces {
 public:
  InputPlaces(int64_t input, int64_t kernel, int64_t output, int64_t stride, int64_t pad, int64_t dilation)
      : kernel_(kernel), places_(output * kernel, kAbsent) {
    for (int64_t p = 0; p < output; ++p) {
      for (int64_t u = 0; u < kernel; ++u) {
        const int64_t place = p * stride - pad + u * dilation;
        if (0 <= place && place < input) places_[p * kernel + u] = place;
      }
    }
  }
  int64_t operator()(int64_t p, int64_t u) const { return places_[p * kernel_ + u]; }

 private:
  int64_t kernel_;
  Indices places_;
};

/// The other way round: the output place p that meets input place h at kernel place u, or kAbsent.
class OutputPlaces {
 public:
  OutputPlaces(int64_t input, int64_t kernel, int64_t output, int64_t stride, int64_t pad, int64_t dilation)
      : kernel_(kernel), places_(input * kernel, kAbsent) {
    for (int64_t h = 0; h < input; ++h) {
      for (int64_t u = 0; u < kernel; ++u) {
        const int64_t place = h + pad - u * dilation;
        if (place % stride == 0 && 0 <= place && place / stride < output) places_[h * kernel + u] = place / stride;
      }
    }
  }
  int64_t operator()(int64_t h, int64_t u) const { return places_[h * kernel_ + u]; }

 private:
  int64_t kernel_;
  Indices places_;
};

template <class Places>
Places Rows(const ConvShape& s) {
  return Places(s.height, s.kernel_h, s.out_h, s.stride_h, s.pad_h, s.dilation_h);
}

template <class Places>
Places Columns(const ConvShape& s) {
  return Places(s.width, s.kernel_w, s.out_w, s.stride_w, s.pad_w, s.dilation_w);
}

}  // namespace

template <class T>
Numbers<T> Conv2d(const Numbers<T>& input, const Numbers<T>& weight, const Numbers<T>& bias, const ConvShape& s,
                  Order order) {
  const auto rows = Rows<InputPlaces>(s);
  const auto columns = Columns<InputPlaces>(s);
  Numbers<T> output(s.samples * s.outputs * s.out_h * s.out_w);
  ForEach(s.samples * s.outputs, [&](int64_t plane) {
    const int64_t n = plane / s.outputs;
    const int64_t o = plane % s.outputs;
    const int64_t first_channel = o / s.group_outputs() * s.group_channels();
    for (int64_t p = 0; p < s.out_h; ++p) {
      for (int64_t q = 0; q < s.out_w; ++q) {
        ProductOf<T> product(order);
        for (int64_t c = 0; c < s.group_channels(); ++c) {
          const T* image = input.data() + (n * s.channels + first_channel + c) * s.height * s.width;
          const T* kernel = weight.data() + (o * s.group_channels() + c) * s.kernel_h * s.kernel_w;
          for (int64_t u = 0; u < s.kernel_h; ++u) {
            const int64_t h = rows(p, u);
            for (int64_t v = 0; v < s.kernel_w; ++v) {
              const int64_t w = columns(q, v);
              if (h != kAbsent && w != kAbsent) {
                product.Add(image[h * s.width + w], kernel[u * s.kernel_w + v]);
              } else {
                product.Skip();
              }
            }
          }
        }
        T value = product.Result();
        if (!bias.empty()) value = value + bias[o];
        output[(plane * s.out_h + p) * s.out_w + q] = value;
      }
    }
  });
  return output;
}

template <class T>
Numbers<T> Conv2dGradInput(const Numbers<T>& weight, const Numbers<T>& grad_output, const ConvShape& s, Order order) {
  const auto rows = Rows<OutputPlaces>(s);
  const auto columns = Columns<OutputPlaces>(s);
  Numbers<T> grad_input(s.samples * s.channels * s.height * s.width);
  ForEach(s.samples * s.channels, [&](int64_t plane) {
    const int64_t n = plane / s.channels;
    const int64_t group = plane % s.channels / s.group_channels();
    const int64_t c = plane % s.channels % s.group_channels();
    const int64_t first_output = group * s.group_outputs();
    for (int64_t h = 0; h < s.height; ++h) {
      for (int64_t w = 0; w < s.width; ++w) {
        ProductOf<T> product(order);
        for (int64_t o = first_output; o < first_output + s.group_outputs(); ++o) {
          const T* grad = grad_output.data() + (n * s.outputs + o) * s.out_h * s.out_w;
          const T* kernel = weight.data() + (o * s.group_channels() + c) * s.kernel_h * s.kernel_w;
          for (int64_t u = 0; u < s.kernel_h; ++u) {
            const int64_t p = rows(h, u);
            for (int64_t v = 0; v < s.kernel_w; ++v) {
              const int64_t q = columns(w, v);
              if (p != kAbsent && q != kAbsent) {
                product.Add(grad[p * s.out_w + q], kernel[u * s.kernel_w + v]);
              } else {
                product.Skip();
              }
            }
          }
        }
        grad_input[(plane * s.height + h) * s.width + w] = product.Result();
      }
    }
  });
  return grad_input;
}

template <class T>
Numbers<T> Conv2dGradKernel(const Numbers<T>& input, const Numbers<T>& grad_output, const ConvShape& s, Order order) {
  const auto rows = Rows<InputPlaces>(s);
  const auto columns = Columns<InputPlaces>(s);
  Numbers<T> grad_weight(s.outputs * s.group_channels() * s.kernel_h * s.kernel_w);
  ForEach(s.outputs * s.group_channels(), [&](int64_t plane) {
    const int64_t o = plane / s.group_channels();
    const int64_t channel = o / s.group_outputs() * s.group_channels() + plane % s.group_channels();
    for (int64_t u = 0; u < s.kernel_h; ++u) {
      for (int64_t v = 0; v < s.kernel_w; ++v) {
        ProductOf<T> product(order);
        for (int64_t n = 0; n < s.samples; ++n) {
          const T* grad = grad_output.data() + (n * s.outputs + o) * s.out_h * s.out_w;
          const T* image = input.data() + (n * s.channels + channel) * s.height * s.width;
          for (int64_t p = 0; p < s.out_h; ++p) {
            const int64_t h = rows(p, u);
            for (int64_t q = 0; q < s.out_w; ++q) {
              const int64_t w = columns(q, v);
              if (h != kAbsent && w != kAbsent) {
                product.Add(grad[p * s.out_w + q], image[h * s.width + w]);
              } else {
                product.Skip();
              }
            }
          }
        }
        grad_weight[(plane * s.kernel_h + u) * s.kernel_w + v] = product.Result();
      }
    }
  });
  return grad_weight;
}

template Floats Conv2d(const Floats& input, const Floats& weight, const Floats& bias, const ConvShape& s, Order order);
template Floats Conv2dGradInput(const Floats& weight, const Floats& grad_output, const ConvShape& s, Order order);
template Floats Conv2dGradKernel(const Floats& input, const Floats& grad_output, const ConvShape& s, Order order);

namespace {

ConvShape ReadShape(const Arguments& args, const IntList& input, const IntList& weight, const IntList& output) {
  const IntList stride = args.Pair("stride");
  const IntList padding = args.Pair("padding");
  const IntList dilation = args.Pair("dilation");
  ConvShape s;
  s.samples = input[0];
  s.channels = input[1];
  s.height = input[2];
  s.width = input[3];
  s.outputs = weight[0];
  s.kernel_h = weight[2];
  s.kernel_w = weight[3];
  s.out_h = output[2];
  s.out_w = output[3];
  s.stride_h = stride[0];
  s.stride_w = stride[1];
  s.pad_h = padding[0];
  s.pad_w = padding[1];
  s.dilation_h = dilation[0];
  s.dilation_w = dilation[1];
  s.groups = args.Int("groups");
  return s;
}

}  // namespace

template <class T>
static Results RunConv2d(const Case& test_case) {
  const Arguments args(test_case);
  const IntList shape = args.OutputShape();
  const ConvShape s = ReadShape(args, args.Shape("input"), args.Shape("weight"), shape);
  Results results;
  Append(
      results,
      Conv2d<T>(args.NumbersOf<T>("input"), args.NumbersOf<T>("weight"), args.NumbersOf<T>("bias"), s, args.TheOrder()),
      shape);
  return results;
}

template <class T>
static Results RunConv2dGradInput(const Case& test_case) {
  const Arguments args(test_case);
  const IntList shape = args.List("input_shape");
  const ConvShape s = ReadShape(args, shape, args.Shape("weight"), args.Shape("grad_output"));
  Results results;
  Append(results, Conv2dGradInput<T>(args.NumbersOf<T>("weight"), args.NumbersOf<T>("grad_output"), s, args.TheOrder()),
         shape);
  return results;
}

template <class T>
static Results RunConv2dGradKernel(const Case& test_case) {
  const Arguments args(test_case);
  const IntList shape = args.List("weight_shape");
  const ConvShape s = ReadShape(args, args.Shape("input"), shape, args.Shape("grad_output"));
  Results results;
  Append(results, Conv2dGradKernel<T>(args.NumbersOf<T>("input"), args.NumbersOf<T>("grad_output"), s, args.TheOrder()),
         shape);
  return results;
}

static const Op kOps[] = {{"conv2d", REPDL_EITHER(RunConv2d)},
                          {"conv2d_grad_input", REPDL_EITHER(RunConv2dGradInput)},
                          {"conv2d_grad_kernel", REPDL_EITHER(RunConv2dGradKernel)}};

}  // namespace repdl::reference

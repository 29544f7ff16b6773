// SPDX-License-Identifier: MIT
#pragma once

#include "tensors.h"

namespace repdl::reference {

/// Everything about a two-dimensional convolution but its numbers: input [samples, channels, height, width],
/// weight [outputs, channels / groups, kernel_h, kernel_w], output [samples, outputs, out_h, out_w].
struct ConvShape {
  int64_t samples, channels, height, width;
  int64_t outputs, kernel_h, kernel_w;
  int64_t out_h, out_w;
  int64_t stride_h = 1, stride_w = 1;
  int64_t pad_h = 0, pad_w = 0;
  int64_t dilation_h = 1, dilation_w = 1;
  int64_t groups = 1;

  int64_t group_channels() const { return channels / groups; }
  int64_t group_outputs() const { return outputs / groups; }
};

/// `bias` may be empty.
template <class T>
Numbers<T> Conv2d(const Numbers<T>& input, const Numbers<T>& weight, const Numbers<T>& bias, const ConvShape& s,
                  Order order);
template <class T>
Numbers<T> Conv2dGradInput(const Numbers<T>& weight, const Numbers<T>& grad_output, const ConvShape& s, Order order);
template <class T>
Numbers<T> Conv2dGradKernel(const Numbers<T>& input, const Numbers<T>& grad_output, const ConvShape& s, Order order);

}  // namespace repdl::reference

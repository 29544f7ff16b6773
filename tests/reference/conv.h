// SPDX-License-Identifier: MIT
#pragma once

#include <array>

#include "tensors.h"

namespace repdl::reference {

/// Depth, height and width, of which a convolution may lack the first ones: they are 1 then.
using Extents = std::array<int64_t, 3>;

/// Everything about a convolution but its numbers: input [samples, channels, input…], weight [outputs, channels / groups,
/// kernel…], output [samples, outputs, output…].
struct ConvShape {
  int64_t samples, channels, outputs;
  Extents input, kernel, output;
  Extents stride = {1, 1, 1}, padding = {}, dilation = {1, 1, 1};
  int64_t groups = 1;

  int64_t group_channels() const { return channels / groups; }
  int64_t group_outputs() const { return outputs / groups; }
};

/// `bias` may be empty.
template <class T>
Numbers<T> Conv(const Numbers<T>& input, const Numbers<T>& weight, const Numbers<T>& bias, const ConvShape& s,
                Order order);
template <class T>
Numbers<T> ConvGradInput(const Numbers<T>& weight, const Numbers<T>& grad_output, const Numbers<T>& bias,
                         const ConvShape& s, Order order);
template <class T>
Numbers<T> ConvGradKernel(const Numbers<T>& input, const Numbers<T>& grad_output, const ConvShape& s, Order order);

}  // namespace repdl::reference

// SPDX-License-Identifier: MIT
#pragma once

#include "tensors.h"

namespace repdl::reference {

/// Images of height x width, each pooled by itself.
struct PoolShape {
  int64_t images, height, width;
  int64_t out_h, out_w;
  int64_t kernel_h, kernel_w;
  int64_t stride_h, stride_w;
  int64_t pad_h = 0, pad_w = 0;
  int64_t dilation_h = 1, dilation_w = 1;
};

template <class T>
struct PooledOf {
  Numbers<T> output;
  Indices indices;
};
using Pooled = PooledOf<float>;

template <class T>
PooledOf<T> MaxPool2d(const Numbers<T>& input, const PoolShape& s);

/// `places` and `outputs` count the elements of one image before and after pooling.
template <class T>
Numbers<T> MaxPool2dGrad(const Numbers<T>& grad_output, const Indices& indices, int64_t images, int64_t places,
                         int64_t outputs);

}  // namespace repdl::reference

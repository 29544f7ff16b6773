// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "base/check.h"
#include "ops/convolution/convolution_plan.h"
#include "repdl/per_axis.h"

namespace repdl {

/// What a call says beside its tensors.
struct ConvSettings {
  PerAxis stride, padding, dilation;
  int64_t groups;
  bool transposed = false;
  PerAxis output_padding = {0};
  int rank = 0;  // the dimensions of space that the op has, or 0 for one to three
};

inline void CheckConvAxes(const ArgName& name, const PerAxis& values, int rank, int64_t least) {
  REPDL_CHECK(values.size() == 1 || values.size() == rank, name, " must have one number, or one for each of ", rank,
              " dimensions, got ", Name(values));
  for (const int64_t value : values) {
    REPDL_CHECK(value >= least, name, " must be at least ", least, ", got ", Name(values));
    REPDL_CHECK(value <= INT32_MAX, name, " must be at most ", INT32_MAX, ", got ", Name(values));
  }
}

/// Sizes of the convolution from the shapes of input and weight; every check that does not need a third tensor. Of a
/// transposed one, those of the convolution whose gradient it is.
class ConvShapes {
 public:
  ConvShapes(std::string_view op, const IntList& input, const IntList& weight, const ConvSettings& settings)
      : op_(op), input_(input), weight_(weight), settings_(settings), rank_(input.size() - 2) {
    CheckRanks();
    CheckChannels();
    sizes_.n = input[0], sizes_.c = weight[1], sizes_.o = weight[0] / settings.groups, sizes_.groups = settings.groups;
    for (int axis = 0; axis < kMaxAxes; ++axis) {
      const int at = axis - (kMaxAxes - rank_);
      at < 0 ? SetAxisOfOne(axis) : SetAxis(axis, at);
    }
    CheckCount();
    output_ = {input_[0], output_channels()};
    const Axes& places = settings_.transposed ? sizes_.input : sizes_.output;
    for (int axis = kMaxAxes - rank_; axis < kMaxAxes; ++axis) output_.Append(places[axis]);
    MergeAxes();
  }

  const ConvSizes& sizes() const { return sizes_; }
  int64_t output_channels() const { return settings_.transposed ? weight_[1] * settings_.groups : weight_[0]; }
  const IntList& Output() const { return output_; }

 private:
  void CheckRanks() const {
    if (settings_.rank != 0) {
      REPDL_CHECK(rank_ == settings_.rank, Arg("input"), " must have the shape (n, c, h, w), got ", Name(input_));
    } else {
      REPDL_CHECK(rank_ >= 1 && rank_ <= kMaxAxes, Arg("input"),
                  " must have the shape (n, c, …) with one to three dimensions of space, got ", Name(input_));
    }
    REPDL_CHECK(weight_.size() == rank_ + 2, Arg("weight"),
                settings_.rank != 0 ? " must have the shape (o, c / groups, kh, kw), got "
                : settings_.transposed
                    ? " must have the shape (c, o / groups, …), and as many dimensions as input, got "
                    : " must have the shape (o, c / groups, …), and as many dimensions as input, got ",
                Name(weight_));
    CheckConvAxes(Arg("stride"), settings_.stride, rank_, 1);
    CheckConvAxes(Arg("padding"), settings_.padding, rank_, 0);
    CheckConvAxes(Arg("dilation"), settings_.dilation, rank_, 1);
    CheckConvAxes(Arg("output_padding"), settings_.output_padding, rank_, 0);
  }

  void CheckChannels() const {
    const int64_t groups = settings_.groups;
    REPDL_CHECK(groups >= 1, Arg("groups"), " must be at least 1, got ", groups);
    REPDL_CHECK(input_[1] % groups == 0, Arg("groups"), "=", groups, " does not divide the ", input_[1],
                " input channels");
    REPDL_CHECK(weight_[0] % groups == 0, Arg("groups"), "=", groups, " does not divide the ", weight_[0],
                settings_.transposed ? " rows of weight" : " output channels");
    if (settings_.transposed) {
      REPDL_CHECK(weight_[0] == input_[1], Arg("weight"), " of shape ", Name(weight_), " takes ", weight_[0],
                  " input channels, but input of shape ", Name(input_), " has ", input_[1]);
    } else {
      REPDL_CHECK(weight_[1] == input_[1] / groups, Arg("weight"), " of shape ", Name(weight_), " takes ", weight_[1],
                  " input channels a group, but input of shape ", Name(input_), " has ", input_[1] / groups);
    }
    for (int at = 2; at < weight_.size(); ++at) {
      REPDL_CHECK(weight_[at] >= 1, Arg("weight"), " of shape ", Name(weight_), " has an empty kernel");
    }
  }

  void SetAxisOfOne(int axis) {
    sizes_.input[axis] = sizes_.kernel[axis] = sizes_.output[axis] = 1;
    sizes_.stride[axis] = sizes_.dilation[axis] = 1, sizes_.padding[axis] = 0;
  }

  void SetAxis(int axis, int at) {
    int64_t& stride = sizes_.stride[axis] = settings_.stride.At(at);
    const int64_t padding = sizes_.padding[axis] = settings_.padding.At(at);
    const int64_t dilation = sizes_.dilation[axis] = settings_.dilation.At(at);
    const int64_t kernel = sizes_.kernel[axis] = weight_[2 + at], size = input_[2 + at];
    REPDL_CHECK(static_cast<double>(dilation) * static_cast<double>(kernel) < 0x1p56 &&
                    static_cast<double>(stride) * static_cast<double>(size) < 0x1p56,
                Arg("dilation"), " ", Name(settings_.dilation), " and stride ", Name(settings_.stride),
                " make the images of input ", Name(input_), " too large to count");
    if (settings_.transposed) {
      const int64_t more = settings_.output_padding.At(at);
      REPDL_CHECK(more < std::max(stride, dilation), Arg("output_padding"),
                  " must be smaller than stride or dilation, got ", more, " for a stride of ", stride,
                  " and a dilation of ", dilation);
      sizes_.output[axis] = size;
      sizes_.input[axis] = (size - 1) * stride - 2 * padding + dilation * (kernel - 1) + more + 1;
      REPDL_CHECK(size >= 1 && sizes_.input[axis] >= 1, Arg("input"), " of shape ", Name(input_), " with weight ",
                  Name(weight_), " has no output: its size would be ", sizes_.input[axis]);
    } else {
      sizes_.input[axis] = size;
      const int64_t reach = size + 2 * padding - dilation * (kernel - 1) - 1;
      REPDL_CHECK(reach >= 0, Arg("weight"), " of shape ", Name(weight_), " is larger than the padded input of shape ",
                  Name(input_));
      sizes_.output[axis] = reach / stride + 1;
    }
    // The stride to a second place that is not there would only cost room.
    if (sizes_.output[axis] == 1) stride = 1;
  }

  void CheckCount() const {
    double places = static_cast<double>(std::max(sizes_.c, sizes_.o));
    for (int axis = 0; axis < kMaxAxes; ++axis) {
      places *= static_cast<double>(sizes_.input[axis] + 2 * sizes_.padding[axis]);
    }
    REPDL_CHECK(places < 0x1p56, Arg("padding"), " ", Name(settings_.padding), " makes the images of input ",
                Name(input_), " too large to count");
  }

  /// Axes of single taps, which see every place, are one axis: the order of the places is the same.
  void MergeAxes() {
    const auto sees_all = [&](int axis) {
      return sizes_.kernel[axis] == 1 && sizes_.padding[axis] == 0 && sizes_.input[axis] == sizes_.output[axis];
    };
    for (int axis = kMaxAxes - 2; axis >= 0 && sees_all(axis) && sees_all(kMaxAxes - 1); --axis) {
      sizes_.input[kMaxAxes - 1] *= sizes_.input[axis];
      sizes_.output[kMaxAxes - 1] = sizes_.input[kMaxAxes - 1];
      sizes_.stride[kMaxAxes - 1] = 1;
      SetAxisOfOne(axis);
    }
  }

  ArgName Arg(std::string_view name) const { return {op_, name}; }

  std::string_view op_;
  const IntList &input_, &weight_;
  const ConvSettings& settings_;
  int rank_;
  ConvSizes sizes_{};
  IntList output_;
};

/// What of the kernel's places along an axis a plan has: every so many of them.
inline void TakePlaces(const Progression& taken, int dim, TensorView& weight) {
  weight.data = weight.Data<std::byte>() + taken.first * weight.strides[dim] * ItemSize(weight.dtype);
  weight.shape[dim] = taken.count;
  weight.strides[dim] *= taken.step;
}

}  // namespace repdl

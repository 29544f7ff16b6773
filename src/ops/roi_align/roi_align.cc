// SPDX-License-Identifier: MIT
#include "repdl/ops/roi_align.h"

#include <vector>

#include "base/check.h"
#include "base/dispatch.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "base/op_scratch.h"
#include "base/parallel.h"
#include "drivers/boxes.h"
#include "drivers/contiguous.h"
#include "drivers/indices.h"
#include "ops/roi_align/roi_align_kernel.h"
#include "ops/roi_align/roi_align_points.h"

namespace repdl {
namespace {

/// Boxes whose elements are listed at a time.
constexpr int64_t kChunk = 128;
/// Boxes whose lists are worth a fork.
constexpr int64_t kGrain = 16;

/// Of each element along an axis a sum of weights and a number of terms; zeros but while they are used.
struct Totals {
  explicit Totals(int64_t size) : weights(static_cast<size_t>(size)), counts(static_cast<size_t>(size)) {}
  std::vector<double> weights;
  std::vector<int64_t> counts;
};

/// The memory of a RoiAxis.
template <class T>
class AxisList {
 public:
  void Fill(T from, T to, int64_t num_bins, int64_t size, const RoiSettings<T>& settings, Totals& totals) {
    starts_.assign(1, 0);
    elements_.clear(), weights_.clear();
    const RoiBins<T> bins(from, to, num_bins, size, settings);
    for (int64_t i = 0; i < num_bins; ++i) {
      AppendBin(bins, i, totals);
      starts_.push_back(static_cast<int64_t>(elements_.size()));
    }
    ListUsed(totals.counts);
  }

  RoiAxis<T> View() const {
    return {starts_.data(), elements_.data(),    weights_.data(), static_cast<int64_t>(used_.size()),
            used_.data(),   used_starts_.data(), bins_.data(),    bin_weights_.data()};
  }

 private:
  void AppendBin(const RoiBins<T>& bins, int64_t bin, Totals& totals) {
    int64_t low = INT32_MAX, high = -1;
    bins.ForNeighbours(bin, [&](int64_t element, double weight) {
      totals.weights[element] = totals.weights[element] + weight;
      ++totals.counts[element];
      low = std::min(low, element), high = std::max(high, element);
    });
    for (int64_t element = low; element <= high; ++element) {
      if (totals.counts[element] == 0) continue;
      elements_.push_back(static_cast<int32_t>(element));
      weights_.push_back(bins.WeightOf(totals.weights[element]));
      totals.weights[element] = 0, totals.counts[element] = 0;
    }
  }

  /// `counts` are zeros, and are so again afterwards.
  void ListUsed(std::vector<int64_t>& counts) {
    used_.clear();
    used_starts_.assign(1, 0);
    bins_.resize(elements_.size()), bin_weights_.resize(elements_.size());
    int64_t low = INT32_MAX, high = -1, total = 0;
    for (const int32_t element : elements_) {
      ++counts[element];
      low = std::min<int64_t>(low, element), high = std::max<int64_t>(high, element);
    }
    for (int64_t element = low; element <= high; ++element) {
      if (counts[element] == 0) continue;
      used_.push_back(static_cast<int32_t>(element));
      const int64_t next = total;
      total += counts[element];
      counts[element] = next;  // where the next bin goes
      used_starts_.push_back(total);
    }
    for (size_t bin = 0; bin + 1 < starts_.size(); ++bin) {
      for (int64_t t = starts_[bin]; t < starts_[bin + 1]; ++t) {
        const int64_t at = counts[elements_[t]]++;
        bins_[at] = static_cast<int32_t>(bin);
        bin_weights_[at] = weights_[t];
      }
    }
    for (const int32_t element : used_) counts[element] = 0;
  }

  std::vector<int64_t> starts_, used_starts_;
  std::vector<int32_t> elements_, used_, bins_;
  std::vector<T> weights_, bin_weights_;
};

template <class T>
struct RoiList {
  AxisList<T> y, x;
};

/// Calls run(first, args) for some boxes at a time, in their order, with `args` that have the lists of these; on a device,
/// where kernels find what would be in them, for all.
template <class T, class Run>
void ForChunks(const Place& place, const TensorView& boxes, const TensorView& indices, RoiAlignArgs<T> args,
               std::string_view op, const Run& run) {
  OpScratch scratch(place);
  const int64_t count = boxes.shape[0];
  const int64_t* const images = CheckedIndices({op, "indices"}, indices, args.batch, scratch);
  const T* const box = Contiguous(boxes, scratch).Data<const T>();
  if (!place.IsCpu()) {
    args.count = count, args.images = images, args.boxes = box;
    return run(0, args);
  }
  std::vector<RoiList<T>> lists(static_cast<size_t>(std::min(count, kChunk)));
  std::vector<Roi<T>> rois(lists.size());
  args.rois = rois.data();
  for (int64_t first = 0; first < count; first += kChunk) {
    args.count = std::min(kChunk, count - first);
    ParallelRanges(args.count, kGrain, [&](int64_t begin, int64_t end) {
      Totals totals(std::max(args.height, args.width));
      for (int64_t i = begin; i < end; ++i) {
        const T* const corners = box + 4 * (first + i);
        RoiList<T>& list = lists[i];
        list.x.Fill(corners[0], corners[2], args.columns, args.width, args.settings, totals);
        list.y.Fill(corners[1], corners[3], args.rows, args.height, args.settings, totals);
        rois[i] = {images[first + i], list.y.View(), list.x.View()};
      }
    });
    run(first, args);
  }
}

/// Of both ops, for images of this size.
void Check(std::string_view op, const TensorView& boxes, const TensorView& indices, const TensorView& like,
           const IntList& input_size, IntPair output_size, int64_t sampling_ratio) {
  CheckBoxes({op, "boxes"}, boxes, like, "(k, 4)");
  CheckImageOfEach({op, "indices"}, indices, boxes.shape[0], like);
  REPDL_CHECK(input_size[2] > 0 && input_size[3] > 0 && input_size[2] <= INT32_MAX && input_size[3] <= INT32_MAX, "[",
              op, "] images of shape ", Name(input_size), " must have a height and a width in [1, 2^31)");
  CheckPair({op, "output_size"}, output_size, 1);
  REPDL_CHECK(sampling_ratio <= kMaxRoiPoints, ArgName{op, "sampling_ratio"}, " must be at most 2^16, got ",
              sampling_ratio);
}

constexpr ArgName kInput{"roi_align", "input"}, kGradOutput{"roi_align_grad", "grad_output"};
constexpr ArgName kInputSize{"roi_align_grad", "input_size"};

}  // namespace

Specs InferRoiAlign(const TensorView& input, const TensorView& boxes, const TensorView& indices, IntPair output_size,
                    double /*spatial_scale*/, int64_t sampling_ratio, bool /*aligned*/) {
  CheckFloat(kInput, input, input);
  CheckRank(kInput, input, 4, 4, "(n, c, h, w)");
  Check("roi_align", boxes, indices, input, input.shape, output_size, sampling_ratio);
  return {{input.dtype, {boxes.shape[0], input.shape[1], output_size.h, output_size.w}}};
}

void RoiAlign(const TensorView& input, const TensorView& boxes, const TensorView& indices, IntPair output_size,
              double spatial_scale, int64_t sampling_ratio, bool aligned, Out output) {
  const FpEnvGuard guard;
  CheckOutputs("roi_align", InferRoiAlign(input, boxes, indices, output_size, spatial_scale, sampling_ratio, aligned),
               {&output}, input);
  const Place place = PlaceOf("roi_align", input);
  OpScratch scratch(place);
  DispatchReal(input.dtype, [&]<class T>() {
    RoiAlignArgs<T> args{};
    args.batch = input.shape[0], args.channels = input.shape[1];
    args.height = input.shape[2], args.width = input.shape[3];
    args.rows = output_size.h, args.columns = output_size.w;
    args.settings = {static_cast<T>(spatial_scale), aligned, sampling_ratio};
    args.input = Contiguous(input, scratch).Data<const T>();
    if (output.numel() == 0 && !place.IsCpu()) return;  // on the CPU the indices are checked
    ForChunks(place, boxes, indices, args, "roi_align", [&](int64_t first, RoiAlignArgs<T>& some) {
      some.output = output.Data<T>() + first * some.channels * some.rows * some.columns;
      RoiAlignKernel(place, some);
    });
  });
}

Specs InferRoiAlignGrad(const TensorView& grad_output, const TensorView& boxes, const TensorView& indices,
                        const IntList& input_size, double /*spatial_scale*/, int64_t sampling_ratio, bool /*aligned*/) {
  CheckFloat(kGradOutput, grad_output, grad_output);
  CheckRank(kGradOutput, grad_output, 4, 4, "(k, c, p, q)");
  REPDL_CHECK(input_size.size() == 4, kInputSize, " ", Name(input_size), " must be (n, c, h, w)");
  REPDL_CHECK(input_size[0] >= 0, kInputSize, " ", Name(input_size), " must not be negative");
  const IntList& shape = grad_output.shape;
  Check("roi_align_grad", boxes, indices, grad_output, input_size, {shape[2], shape[3]}, sampling_ratio);
  CheckShape(kGradOutput, grad_output, {boxes.shape[0], input_size[1], shape[2], shape[3]});
  return {{grad_output.dtype, input_size}};
}

void RoiAlignGrad(const TensorView& grad_output, const TensorView& boxes, const TensorView& indices,
                  const IntList& input_size, double spatial_scale, int64_t sampling_ratio, bool aligned,
                  Out grad_input) {
  const FpEnvGuard guard;
  CheckOutputs("roi_align_grad",
               InferRoiAlignGrad(grad_output, boxes, indices, input_size, spatial_scale, sampling_ratio, aligned),
               {&grad_input}, grad_output);
  const Place place = PlaceOf("roi_align_grad", grad_output);
  FillWithZero(place, grad_input);
  OpScratch scratch(place);
  DispatchReal(grad_output.dtype, [&]<class T>() {
    RoiAlignArgs<T> args{};
    args.batch = input_size[0], args.channels = input_size[1];
    args.height = input_size[2], args.width = input_size[3];
    args.rows = grad_output.shape[2], args.columns = grad_output.shape[3];
    args.settings = {static_cast<T>(spatial_scale), aligned, sampling_ratio};
    args.grad_input = grad_input.Data<T>();
    const T* const grad = Contiguous(grad_output, scratch).Data<const T>();
    if (grad_output.numel() == 0 && !place.IsCpu()) return;
    ForChunks(place, boxes, indices, args, "roi_align_grad", [&](int64_t first, RoiAlignArgs<T>& some) {
      some.grad_output = grad + first * some.channels * some.rows * some.columns;
      RoiAlignGradKernel(place, some);
    });
  });
}

}  // namespace repdl

REPDL_OPS(roi_align,
          MakeOp<InferRoiAlign, RoiAlign, RoiAlignKernel>(
              "roi_align", "input, boxes, indices, output_size, spatial_scale=1.0, sampling_ratio=-1, aligned=False",
              kFloat32Or64),
          MakeOp<InferRoiAlignGrad, RoiAlignGrad, RoiAlignGradKernel>(
              "roi_align_grad",
              "grad_output, boxes, indices, input_size, spatial_scale=1.0, sampling_ratio=-1, aligned=False",
              kFloat32Or64))

// SPDX-License-Identifier: MIT
#include "base/op_scratch.h"
#include "drivers/contiguous.h"
#include "drivers/row_cuda.h"
#include "ops/roi_align/roi_align_points.h"

namespace repdl::cuda {

/// What the bins of boxes have along an axis: for each bin, the weight of each element, or a number below 0 where the bin
/// does not have it.
struct RoiWeights {
  static constexpr double kAbsent = -1.0;

  int64_t bins, size;
  double* weights;         // (boxes, bins, size)
  int32_t *firsts, *ends;  // (boxes, bins): elements of which a bin has some
  int32_t *low, *high;     // (boxes): those of all bins

  RoiWeights() = default;
  RoiWeights(int64_t boxes, int64_t bins, int64_t size, OpScratch& scratch)
      : bins(bins),
        size(size),
        weights(scratch.Get<double>(boxes * bins * size)),
        firsts(scratch.Get<int32_t>(boxes * bins)),
        ends(scratch.Get<int32_t>(boxes * bins)),
        low(scratch.Get<int32_t>(boxes)),
        high(scratch.Get<int32_t>(boxes)) {}

  REPDL_ROW double At(int64_t bin, int64_t element) const { return weights[bin * size + element]; }

  template <class T>
  REPDL_ROW void FillBox(int64_t box, const RoiBins<T>& of_box) const {
    int64_t lowest = INT32_MAX, highest = 0;
    for (int64_t i = 0; i < bins; ++i) {
      const int64_t bin = box * bins + i;
      double* const to = weights + bin * size;
      int64_t first = INT32_MAX, end = 0;
      of_box.ForNeighbours(i, [&](int64_t element, double weight) {
        to[element] = scalar::Add(to[element] < 0.0 ? 0.0 : to[element], weight);
        if (element < first) first = element;
        if (element >= end) end = element + 1;
      });
      for (int64_t element = first; element < end; ++element) {
        if (to[element] >= 0.0) to[element] = static_cast<double>(of_box.WeightOf(to[element]));
      }
      firsts[bin] = static_cast<int32_t>(first), ends[bin] = static_cast<int32_t>(end);
      if (first < lowest) lowest = first;
      if (end > highest) highest = end;
    }
    low[box] = static_cast<int32_t>(lowest), high[box] = static_cast<int32_t>(highest);
  }
};

/// Some boxes, from `first` on.
template <class T>
struct RoiCall {
  RoiAlignArgs<T> args;
  int64_t first, count;
  RoiWeights y, x;
};

/// An axis of a box by each thread.
template <class T>
__global__ void __launch_bounds__(kThreadsPerBlock) FillWeightsKernel(const __grid_constant__ RoiCall<T> call) {
  const RoiAlignArgs<T>& args = call.args;
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < 2 * call.count; at += num_threads) {
    const int64_t box = at / 2;
    const T* const corners = args.boxes + 4 * (call.first + box);
    if (at % 2 == 0) {
      call.x.FillBox(box, RoiBins<T>(corners[0], corners[2], args.columns, args.width, args.settings));
    } else {
      call.y.FillBox(box, RoiBins<T>(corners[1], corners[3], args.rows, args.height, args.settings));
    }
  }
}

/// A bin of a channel by each thread.
template <class T>
__global__ void __launch_bounds__(kThreadsPerBlock) AlignKernel(const __grid_constant__ RoiCall<T> call) {
  const RoiAlignArgs<T>& args = call.args;
  const int64_t count = call.count * args.channels * args.rows * args.columns;
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < count; at += num_threads) {
    int64_t box = at;
    const int64_t j = scalar::TakeRemainder(box, args.columns), i = scalar::TakeRemainder(box, args.rows);
    const int64_t c = scalar::TakeRemainder(box, args.channels);
    const int64_t image = CheckedIndex(args.images[call.first + box], args.batch);
    const T* const from = args.input + (image * args.channels + c) * args.height * args.width;
    const int64_t row_bin = box * args.rows + i, column_bin = box * args.columns + j;
    const int64_t left = call.x.firsts[column_bin], right = call.x.ends[column_bin];
    T total = 0;
    bool has_row = false;
    for (int64_t y = call.y.firsts[row_bin]; y < call.y.ends[row_bin]; ++y) {
      const double row_weight = call.y.At(row_bin, y);
      if (row_weight < 0.0) continue;
      T sum = 0;
      bool has_column = false;
      for (int64_t x = left; x < right; ++x) {
        const double weight = call.x.At(column_bin, x);
        if (weight < 0.0) continue;
        const T product = scalar::Mul(from[y * args.width + x], static_cast<T>(weight));
        sum = has_column ? scalar::Add(sum, product) : product;
        has_column = true;
      }
      const T product = scalar::Mul(sum, static_cast<T>(row_weight));
      total = has_row ? scalar::Add(total, product) : product;
      has_row = true;
    }
    args.output[call.first * args.channels * args.rows * args.columns + at] = total;
  }
}

/// An element of an image by each thread, to which the boxes give in their order.
template <class T>
__global__ void __launch_bounds__(kThreadsPerBlock) AlignGradKernel(const __grid_constant__ RoiCall<T> call) {
  const RoiAlignArgs<T>& args = call.args;
  const int64_t count = args.batch * args.channels * args.height * args.width, bins = args.rows * args.columns;
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < count; at += num_threads) {
    int64_t image = at;
    const int64_t x = scalar::TakeRemainder(image, args.width), y = scalar::TakeRemainder(image, args.height);
    const int64_t c = scalar::TakeRemainder(image, args.channels);
    T total = args.grad_input[at];
    for (int64_t box = 0; box < call.count; ++box) {
      if (y < call.y.low[box] || y >= call.y.high[box] || x < call.x.low[box] || x >= call.x.high[box]) continue;
      if (CheckedIndex(args.images[call.first + box], args.batch) != image) continue;
      const T* const grad = args.grad_output + ((call.first + box) * args.channels + c) * bins;
      T of_box = 0;
      for (int64_t i = 0; i < args.rows; ++i) {
        const double row_weight = call.y.At(box * args.rows + i, y);
        if (row_weight < 0.0) continue;
        T sum = 0;
        for (int64_t j = 0; j < args.columns; ++j) {
          const double weight = call.x.At(box * args.columns + j, x);
          if (weight < 0.0) continue;
          sum = scalar::Add(sum, scalar::Mul(grad[i * args.columns + j], static_cast<T>(weight)));
        }
        of_box = scalar::Add(of_box, scalar::Mul(sum, static_cast<T>(row_weight)));
      }
      total = scalar::Add(total, of_box);
    }
    args.grad_input[at] = total;
  }
}

/// An image that a box names and that is not there, which no thread may look at.
template <class T>
__global__ void __launch_bounds__(kThreadsPerBlock) CheckImagesKernel(const __grid_constant__ RoiAlignArgs<T> args) {
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < args.count; at += num_threads) {
    CheckedIndex(args.images[at], args.batch);
  }
}

/// Bytes of the weights of boxes that are worked on together.
static constexpr int64_t kMaxWeights = int64_t{1} << 26;

/// kernel(call) with `items(call)` threads for some boxes after others.
template <class T, class Items>
static void ForBoxes(const Place& place, const RoiAlignArgs<T>& args, void (*kernel)(RoiCall<T>), const Items& items) {
  const int64_t of_box = (args.rows * args.height + args.columns * args.width) * static_cast<int64_t>(sizeof(double));
  const int64_t most = std::clamp<int64_t>(kMaxWeights / of_box, 1, args.count);
  OpScratch scratch(place);
  RoiCall<T> call{args, 0, 0, {most, args.rows, args.height, scratch}, {most, args.columns, args.width, scratch}};
  for (; call.first < args.count; call.first += call.count) {
    call.count = std::min(most, args.count - call.first);
    FillWith(place, call.y.weights, call.count * args.rows * args.height, RoiWeights::kAbsent);
    FillWith(place, call.x.weights, call.count * args.columns * args.width, RoiWeights::kAbsent);
    Launch(place, 2 * call.count, &FillWeightsKernel<T>, call);
    Launch(place, items(call), kernel, call);
  }
}

template <class T>
static void Run(const Place& place, const RoiAlignArgs<T>& args) {
  const auto bins = [&](const RoiCall<T>& call) { return call.count * args.channels * args.rows * args.columns; };
  ForBoxes(place, args, &AlignKernel<T>, bins);
}

template <class T>
static void RunGrad(const Place& place, const RoiAlignArgs<T>& args) {
  Launch(place, args.count, &CheckImagesKernel<T>, args);
  const int64_t elements = args.batch * args.channels * args.height * args.width;
  if (elements > 0) ForBoxes(place, args, &AlignGradKernel<T>, [&](const RoiCall<T>&) { return elements; });
}

REPDL_CUDA_KERNEL(RoiAlignKernel, RoiAlignArgs<float>) { Run(place, args); }
REPDL_CUDA_KERNEL(RoiAlignKernel, RoiAlignArgs<double>) { Run(place, args); }
REPDL_CUDA_KERNEL(RoiAlignGradKernel, RoiAlignArgs<float>) { RunGrad(place, args); }
REPDL_CUDA_KERNEL(RoiAlignGradKernel, RoiAlignArgs<double>) { RunGrad(place, args); }

}  // namespace repdl::cuda

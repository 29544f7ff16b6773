// SPDX-License-Identifier: MIT
#include "base/parallel.h"
#include "drivers/tile_cpu-inl.h"
#include "ops/conv2d/conv2d_kernel.h"
#include "ops/mm/mm_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

/// Padded copies of the last few source images, the channels of one group each.
class PaddedImages {
 public:
  PaddedImages(const ConvPlan& plan, const float* source, int64_t image_stride, int64_t window, Scratch& scratch)
      : plan_(plan),
        source_(source),
        image_stride_(image_stride),
        window_(window),
        held_(scratch.Get<int64_t>(window)),
        data_(scratch.Get<float>(window * ImageSize() + kLanes)) {
    std::fill(held_, held_ + window, int64_t{-1});
  }

  /// Image `n`; pointers to the `window` images last asked for stay good.
  const float* Image(int64_t n) const {
    float* const image = data_ + n % window_ * ImageSize();
    if (held_[n % window_] != n) {
      for (int64_t c = 0; c < plan_.channels; ++c) {
        plan_.Pad(source_ + n * image_stride_ + c * plan_.source_h * plan_.source_w, image + c * plan_.plane_size);
      }
      held_[n % window_] = n;
    }
    return image;
  }

 private:
  int64_t ImageSize() const { return plan_.channels * plan_.plane_size; }

  const ConvPlan& plan_;
  const float* source_;
  int64_t image_stride_;
  int64_t window_;
  int64_t* held_;
  float* data_;
};

/// A run of positions in one row of one image.
struct Run {
  int64_t at;  // place in the panel
  int64_t length;
  const float* source;
};

/// The runs that make up positions [begin, begin + count), counted over the images.
template <class Body>
HWY_INLINE void ForRuns(const ConvPlan& plan, const PaddedImages& images, int64_t begin, int64_t count,
                        const Body& body) {
  for (int64_t done = 0; done < count;) {
    const int64_t position = (begin + done) % plan.positions();
    const int64_t row = position / plan.cols, col = position % plan.cols;
    const int64_t length = std::min(count - done, plan.cols - col);
    const float* image = images.Image((begin + done) / plan.positions());
    body(Run{done, length, image + row * plan.row_step + col});
    done += length;
  }
}

/// Writes the validity bits of a panel row.
HWY_INLINE void PutValid(uint64_t bits, uint8_t* valid) {
  for (int v = 0; v < kTileVecs; ++v) {
    for (int byte = 0; byte < kMaskBytes; ++byte) {
      valid[v * kMaskBytes + byte] = static_cast<uint8_t>(bits >> (v * kLanes + byte * 8));
    }
  }
}

inline uint64_t LowBits(int64_t count) { return (uint64_t{1} << count) - 1; }

/// Right operand with the positions as columns and (channel, tap) as k.
struct PositionCols {
  const ConvPlan& plan;
  const PaddedImages& images;
  int64_t num_cols;

  static constexpr bool kMasked = true;

  const float* InPlace(int64_t, int64_t) const { return nullptr; }
  int64_t InPlaceStride() const { return 0; }
  bool Pack(int64_t j, int64_t k, int64_t num_k, float* panel, uint8_t* valid) const {
    const FloatTag d;
    const int64_t cols = std::min<int64_t>(kTileCols, num_cols - j);
    Run runs[kTileCols];
    int num_runs = 0;
    ForRuns(plan, images, j, cols, [&](const Run& run) HWY_ATTR { runs[num_runs++] = run; });
    int64_t channel = k / plan.taps, tap = k % plan.taps;
    for (int64_t i = 0; i < num_k; ++i) {
      const int64_t offset = channel * plan.plane_size + plan.tap_offset[tap];
      float* const to = panel + i * kTileCols;
      if (cols < kTileCols) std::fill(to, to + kTileCols, 0.0f);
      for (int r = 0; r < num_runs; ++r) {
        // Whole vectors: what a run writes too much, the next one, or the next k, writes again.
        for (int64_t q = 0; q < runs[r].length; q += kLanes) {
          StoreU(LoadU(d, runs[r].source + offset + q), d, to + runs[r].at + q);
        }
      }
      if (++tap == plan.taps) tap = 0, ++channel;
    }
    if (!plan.masked) return false;
    const int64_t position = j % plan.positions();
    const int64_t last_tap = std::min(plan.taps, num_k);
    bool all = true;
    for (int64_t t = 0; t < last_tap && all; ++t) {
      all = (~plan.present_by_tap.Read((k + t) % plan.taps, position) & LowBits(cols)) == 0;
    }
    if (all) return false;
    for (int64_t i = 0; i < num_k; ++i) {
      PutValid(plan.present_by_tap.Read((k + i) % plan.taps, position), valid + i * kTileVecs * kMaskBytes);
    }
    return true;
  }
};

/// Where columns that are positions of several images go.
struct PositionSink {
  float* result;         // of the first image of the group
  int64_t image_stride;  // between images
  int64_t positions;
  int64_t num_cols;
  const float* bias;  // null, or one number a row

  float* At(int64_t i, int64_t j) const {
    return result + j / positions * image_stride + i * positions + j % positions;
  }
  float* InPlace(int64_t i, int64_t j) const {
    const bool one_image = j % positions + kTileCols <= positions;
    return one_image && bias == nullptr ? At(i, j) : nullptr;
  }
  int64_t InPlaceStride() const { return positions; }
  void Store(int64_t i, int rows, int64_t j, float* tile) const {
    const int64_t cols = std::min<int64_t>(kTileCols, num_cols - j);
    for (int r = 0; r < rows; ++r) {
      float* from = tile + r * kTileCols;
      if (bias != nullptr) {
        for (int64_t q = 0; q < cols; ++q) from[q] = from[q] + bias[i + r];
      }
      for (int64_t q = 0; q < cols;) {
        const int64_t length = std::min(cols - q, positions - (j + q) % positions);
        std::memcpy(At(i + r, j + q), from + q, sizeof(float) * static_cast<size_t>(length));
        q += length;
      }
    }
  }
};

/// Forward and the gradient by the input: rows of `left` (m x channels * taps, a group) times what the plan reads.
void OverPositions(const Conv2dArgs& args, int64_t m) {
  const ConvPlan& plan = *args.plan;
  const int64_t groups = args.sizes.groups, num_k = plan.channels * plan.taps;
  const int64_t num_cols = args.sizes.n * plan.positions();
  const int64_t source_size = plan.channels * plan.source_h * plan.source_w;
  // Whole images, or at least whole panels, a task.
  const int64_t panels = (num_cols + kTileCols - 1) / kTileCols;
  const int64_t work = std::max<int64_t>(1, m * num_k * kTileCols);
  const int64_t tasks = std::clamp<int64_t>(panels * work / 100000, 1, 4 * GetNumThreads());
  const int64_t parts = std::min(panels, tasks);
  const int64_t window = std::min(kBlockCols, num_cols) / plan.positions() + 2;
  ParallelFor(groups * parts, [&](int64_t task) HWY_ATTR {
    const int64_t g = task / parts, part = task % parts;
    const int64_t j0 = panels * part / parts * kTileCols;
    const int64_t j1 = std::min(num_cols, panels * (part + 1) / parts * kTileCols);
    Scratch scratch;
    const PaddedImages images(plan, args.source + g * source_size, groups * source_size, window, scratch);
    const PositionSink sink{args.result + g * m * plan.positions(), groups * m * plan.positions(), plan.positions(),
                            num_cols, args.bias == nullptr ? nullptr : args.bias + g * m};
    TileProduct(m, j0, j1, num_k, ChainLength(args.order, num_k),
                MatrixRows{{args.other + g * m * num_k, num_k, 1}}, PositionCols{plan, images, num_cols}, sink);
  });
}

/// Left operand of the gradient by the weight: output channels by (image, position).
struct GradRows {
  const float* grad_output;  // of the first image of the group
  int64_t image_stride;
  int64_t positions;

  const float* Panel(int64_t i, int rows, int64_t k, int64_t num_k, float* buffer) const {
    for (int64_t done = 0; done < num_k;) {
      const int64_t position = (k + done) % positions;
      const int64_t length = std::min(num_k - done, positions - position);
      const Matrix image{grad_output + (k + done) / positions * image_stride, positions, 1};
      PackRows(image, i, rows, position, length, buffer + done * rows);
      done += length;
    }
    return buffer;
  }
};

/// Right operand of the gradient by the weight: (channel, tap) as columns and (image, position) as k.
struct TapCols {
  const ConvPlan& plan;
  const PaddedImages& images;
  int64_t num_cols;

  static constexpr bool kMasked = true;

  const float* InPlace(int64_t, int64_t) const { return nullptr; }
  int64_t InPlaceStride() const { return 0; }
  bool Pack(int64_t j, int64_t k, int64_t num_k, float* panel, uint8_t* valid) const {
    const int64_t cols = std::min<int64_t>(kTileCols, num_cols - j);
    // Columns behind the last one repeat it: nobody reads their sums.
    int64_t offset[kTileCols];
    for (int64_t q = 0; q < kTileCols; ++q) {
      const int64_t column = j + std::min(q, cols - 1);
      offset[q] = column / plan.taps * plan.plane_size + plan.tap_offset[column % plan.taps];
    }
    ForRuns(plan, images, k, num_k, [&](const Run& run) HWY_ATTR {
      int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
      for (; i + 4 <= run.length; i += 4) {
        for (int64_t q = 0; q < kTileCols; q += 4) {
          Transpose4x4(run.source + i + offset[q], run.source + i + offset[q + 1], run.source + i + offset[q + 2],
                       run.source + i + offset[q + 3], panel + (run.at + i) * kTileCols + q, kTileCols);
        }
      }
#endif
      for (; i < run.length; ++i) {
        for (int64_t q = 0; q < kTileCols; ++q) panel[(run.at + i) * kTileCols + q] = run.source[i + offset[q]];
      }
    });
    if (!plan.masked) return false;
    bool all = true;
    const int64_t tap = j % plan.taps;
    for (int64_t i = 0; i < num_k; ++i) {
      const uint64_t bits = plan.present_by_position.Read((k + i) % plan.positions(), tap);
      all = all && (~bits & LowBits(cols)) == 0;
      PutValid(bits, valid + i * kTileVecs * kMaskBytes);
    }
    return !all;
  }
};

}  // namespace

void Conv2dKernel(const Conv2dArgs& args) { OverPositions(args, args.sizes.o); }

void Conv2dGradInputKernel(const Conv2dArgs& args) { OverPositions(args, args.sizes.c); }

void Conv2dGradWeightKernel(const Conv2dArgs& args) {
  const ConvPlan& plan = *args.plan;
  const int64_t groups = args.sizes.groups, m = args.sizes.o, n = plan.channels * plan.taps;
  const int64_t num_k = args.sizes.n * plan.positions();
  const int64_t source_size = plan.channels * plan.source_h * plan.source_w;
  const int64_t grad_size = m * plan.positions();
  const int64_t window = std::min(kBlockK, num_k) / plan.positions() + 2;
  const int64_t parts = std::min<int64_t>(GetNumThreads(), groups * m * n * num_k / 100000 + 1);
  const Grid grid = groups >= 2 * parts ? Grid{} : CutAmong(m, n, (parts + groups - 1) / groups);
  const int64_t shares = grid.rows * grid.cols;
  const int64_t panels = (n + kTileCols - 1) / kTileCols;
  ParallelFor(groups * shares, [&](int64_t task) HWY_ATTR {
    const int64_t g = task / shares, row = task % shares / grid.cols, col = task % grid.cols;
    const int64_t i0 = m * row / grid.rows, i1 = m * (row + 1) / grid.rows;
    const int64_t j0 = panels * col / grid.cols * kTileCols;
    const int64_t j1 = std::min(n, panels * (col + 1) / grid.cols * kTileCols);
    Scratch scratch;
    const PaddedImages images(plan, args.source + g * source_size, groups * source_size, window, scratch);
    const GradRows left{args.other + g * grad_size + i0 * plan.positions(), groups * grad_size, plan.positions()};
    TileProduct(i1 - i0, j0, j1, num_k, ChainLength(args.order, num_k), left, TapCols{plan, images, n},
                MatrixSink{args.result + (g * m + i0) * n, n, 1, n, nullptr, nullptr});
  });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

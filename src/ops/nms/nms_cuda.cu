// SPDX-License-Identifier: MIT
#include "base/op_scratch.h"
#include "drivers/contiguous.h"
#include "drivers/row_cuda.h"
#include "ops/nms/nms_kernel.h"

namespace repdl::scalar {

#include "ops/nms/nms.row.h"

}  // namespace repdl::scalar

namespace repdl::cuda {

/// Boxes of which a block decides which are kept, before all that follow are tried against these.
static constexpr int kBoxes = kThreadsPerBlock;

template <class T>
struct NmsBox {
  T x1, y1, x2, y2, area;

  NmsBox() = default;
  REPDL_ROW explicit NmsBox(const T* box)
      : x1(box[0]), y1(box[1]), x2(box[2]), y2(box[3]), area(scalar::AreaOf(x1, y1, x2, y2)) {}

  REPDL_ROW bool IsCoveredBy(const NmsBox& kept, T threshold) const {
    const T inter = scalar::AreaOfBoth(x1, y1, x2, y2, kept.x1, kept.y1, kept.x2, kept.y2);
    return scalar::IsCovered(inter, area, kept.area, threshold);
  }
};

/// The boxes from `first` on, of which those before have covered some.
template <class T>
struct NmsCall {
  NmsArgs<T> args;
  int64_t first;
  bool* covered;
};

/// What threads share.
template <class T>
struct NmsShared {
  NmsBox<T> boxes[kBoxes];
  bool covered[kBoxes];
};

/// By one block: which of kBoxes boxes are kept. It appends them to the indices.
template <class T>
__global__ void __launch_bounds__(kBoxes) DecideKernel(const __grid_constant__ NmsCall<T> call) {
  const NmsArgs<T>& args = call.args;
  NmsShared<T>& shared = *SharedMemory<NmsShared<T>>();
  const int j = static_cast<int>(threadIdx.x);
  const int64_t at = call.first + j, rest = args.n - call.first;
  const int count = rest < kBoxes ? static_cast<int>(rest) : kBoxes;
  NmsBox<T> box{};
  if (j < count) box = NmsBox<T>(args.boxes + 4 * args.order[at]);
  shared.boxes[j] = box;
  shared.covered[j] = j >= count || call.covered[at];
  int64_t kept = *args.count;
  for (int i = 0; i < count; ++i) {
    __syncthreads();  // it is decided whether box i is covered
    if (shared.covered[i]) continue;
    if (j == i) args.indices[kept] = args.order[at];
    ++kept;
    if (j > i && j < count && box.IsCoveredBy(shared.boxes[i], args.threshold)) shared.covered[j] = true;
  }
  if (j < count) call.covered[at] = shared.covered[j];
  __syncthreads();  // all have read how many there were before
  if (j == 0) *args.count = kept;
}

/// Tries the boxes behind those against the ones that are kept, one by each thread.
template <class T>
__global__ void __launch_bounds__(kThreadsPerBlock) CoverKernel(const __grid_constant__ NmsCall<T> call) {
  const NmsArgs<T>& args = call.args;
  NmsShared<T>& shared = *SharedMemory<NmsShared<T>>();
  for (int i = static_cast<int>(threadIdx.x); i < kBoxes; i += static_cast<int>(blockDim.x)) {
    shared.boxes[i] = NmsBox<T>(args.boxes + 4 * args.order[call.first + i]);
    shared.covered[i] = call.covered[call.first + i];
  }
  __syncthreads();
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  int64_t j = call.first + kBoxes + int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (; j < args.n; j += num_threads) {
    if (call.covered[j]) continue;
    const NmsBox<T> box(args.boxes + 4 * args.order[j]);
    bool covered = false;
    for (int i = 0; i < kBoxes && !covered; ++i) {
      covered = !shared.covered[i] && box.IsCoveredBy(shared.boxes[i], args.threshold);
    }
    call.covered[j] = covered;
  }
}

template <class T>
static void Run(const Place& place, const NmsArgs<T>& args) {
  OpScratch scratch(place);
  const int64_t words = (args.n + 3) / 4;
  auto* const covered = scratch.Get<int32_t>(words);
  FillWith(place, covered, words, int32_t{0});
  FillWith(place, args.indices, args.n, int64_t{-1});
  FillWith(place, args.count, 1, int64_t{0});
  for (int64_t first = 0; first < args.n; first += kBoxes) {
    const NmsCall<T> call{args, first, reinterpret_cast<bool*>(covered)};
    Launch(place, Grid{1, kBoxes, sizeof(NmsShared<T>)}, &DecideKernel<T>, call);
    const int64_t behind = args.n - first - kBoxes;
    if (behind <= 0) break;
    const Grid grid{std::min((behind + kThreadsPerBlock - 1) / kThreadsPerBlock, kMaxBlocks), kThreadsPerBlock,
                    sizeof(NmsShared<T>)};
    Launch(place, grid, &CoverKernel<T>, call);
  }
}

REPDL_CUDA_KERNEL(NmsKernel, NmsArgs<float>) { Run(place, args); }
REPDL_CUDA_KERNEL(NmsKernel, NmsArgs<double>) { Run(place, args); }

}  // namespace repdl::cuda

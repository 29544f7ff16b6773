// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <type_traits>
#include <utility>

#include "base/cuda_launch.h"
#include "drivers/map_cuda_thread.h"
#include "ops/fused_optimizer/fused_optimizer_kernel.h"
#include "repdl/held_launches.h"

namespace repdl::scalar {

#include "numerics/functions/maximum.lane.h"
#include "ops/fused_optimizer/fused_optimizer.lane.h"

/// Rounds to the dtype of the tensors.
template <class T>
struct RoundedTo {
  DType dtype;

  REPDL_LANE T operator()(T x) const {
    if constexpr (std::is_same_v<T, float>) {
      if (dtype == DType::kBFloat16) return WidenBFloat16(NarrowBFloat16(x));
      if (dtype == DType::kFloat16) return WidenFloat16(NarrowFloat16(x) & 0xffff);
    }
    return x;
  }
};

/// The numbers of an element, `count` of them, of which a step changes all but the gradient.
template <class T>
REPDL_LANE void StepElement(const FusedAdamNumbers<T>& numbers, const RoundedTo<T>& round, int count, T* x) {
  // A place for a number that may be there or not would lie in memory.
  if (count == 4) return FusedAdamElement(Tag<T>(), numbers, round, x[1], x[0], x[2], x[3], static_cast<T*>(nullptr));
  FusedAdamElement(Tag<T>(), numbers, round, x[1], x[0], x[2], x[3], x + 4);
}
template <class T>
REPDL_LANE void StepElement(const FusedAdagradNumbers<T>& numbers, const RoundedTo<T>& round, int, T* x) {
  FusedAdagradElement(Tag<T>(), numbers, round, x[1], x[0], x[2]);
}
template <class T>
REPDL_LANE void StepElement(const FusedSgdNumbers<T>& numbers, const RoundedTo<T>& round, int count, T* x) {
  if (count == 2) return FusedSgdElement(Tag<T>(), numbers, round, x[1], x[0], static_cast<T*>(nullptr));
  FusedSgdElement(Tag<T>(), numbers, round, x[1], x[0], x + 2);
}

}  // namespace repdl::scalar

namespace repdl::cuda {
namespace {

/// Steps of several parameters with the same numbers, in one launch. Blocks of a step follow each other; each has a chunk of
/// its tensors.
template <class Numbers>
struct FusedTable {
  static constexpr int kMaxSteps = 96, kMaxData = 320;
  static constexpr int64_t kChunk = int64_t{8} * kThreadsPerBlock;

  Numbers numbers;
  DType dtype;
  int count;  // of the tensors of a step
  int num_steps = 0;
  int first_block[kMaxSteps + 1] = {};
  int64_t n[kMaxSteps] = {};
  void* data[kMaxData] = {};  // step by step
};

template <class T, class Numbers>
__global__ void __launch_bounds__(kThreadsPerBlock) FusedStepKernel(const __grid_constant__ FusedTable<Numbers> table) {
  constexpr int kGradient = 1;
  const int block = static_cast<int>(blockIdx.x);
  int step = 0, end_step = table.num_steps;  // the step that has the block
  while (end_step - step > 1) {
    const int middle = (step + end_step) / 2;
    (table.first_block[middle] <= block ? step : end_step) = middle;
  }
  void* const* const data = table.data + step * table.count;
  const scalar::RoundedTo<T> round{table.dtype};
  const int64_t begin = (block - table.first_block[step]) * table.kChunk;
  const int64_t rest = table.n[step] - begin, end = begin + (rest < table.kChunk ? rest : table.kChunk);
  for (int64_t i = begin + threadIdx.x; i < end; i += blockDim.x) {
    T x[FusedTensors::kMaxCount];
#pragma unroll
    for (int k = 0; k < FusedTensors::kMaxCount; ++k) {
      if (k < table.count) x[k] = scalar::LoadNumber<T>(data[k], table.dtype, i);
    }
    scalar::StepElement(table.numbers, round, table.count, x);
#pragma unroll
    for (int k = 0; k < FusedTensors::kMaxCount; ++k) {
      if (k < table.count && k != kGradient) scalar::StoreNumber(data[k], table.dtype, i, x[k]);
    }
  }
}

/// A table that is filled step by step.
template <class T, class Numbers>
class FusedSteps final : public HeldLaunch {
 public:
  FusedSteps(const Place& place, const FusedArgs<Numbers>& args)
      : place_(place), table_{.numbers = args.numbers, .dtype = args.tensors.dtype, .count = args.tensors.count} {
    static_assert(sizeof(table_) <= 4096, "parameters of a kernel are limited");
  }

  /// Whether a step may be done at the same time as those before, by the same kernel. No step sees what another does.
  bool Takes(const Place& place, const FusedArgs<Numbers>& args) const {
    const FusedTensors& tensors = args.tensors;
    return place.device == place_.device && place.stream == place_.stream && tensors.dtype == table_.dtype &&
           tensors.count == table_.count && table_.num_steps < table_.kMaxSteps &&
           (table_.num_steps + 1) * table_.count <= table_.kMaxData &&
           NumBlocks(tensors.n) <= INT32_MAX - table_.first_block[table_.num_steps] &&
           std::memcmp(&args.numbers, &table_.numbers, sizeof(Numbers)) == 0 && !Meets(tensors);
  }

  void Add(const FusedTensors& tensors) {
    for (int k = 0; k < tensors.count; ++k) {
      table_.data[table_.num_steps * table_.count + k] = tensors.data[k];
      auto [begin, end] = RangeOf(tensors, k);
      for (auto next = FirstFrom(end); next != ends_.begin() && std::prev(next)->second > begin;) {
        next = std::prev(next);  // another tensor of the step: both become one range
        begin = std::min(begin, next->first), end = std::max(end, next->second);
        next = ends_.erase(next);
      }
      ends_[begin] = end;
    }
    const int step = table_.num_steps++;
    table_.n[step] = tensors.n;
    table_.first_block[step + 1] = table_.first_block[step] + static_cast<int>(NumBlocks(tensors.n));
  }

  void Start() override {
    Launch(place_, Grid{table_.first_block[table_.num_steps]}, &FusedStepKernel<T, Numbers>, table_);
  }

 private:
  static int64_t NumBlocks(int64_t n) { return (n - 1) / FusedTable<Numbers>::kChunk + 1; }

  static std::pair<const char*, const char*> RangeOf(const FusedTensors& tensors, int k) {
    const auto* const begin = static_cast<const char*>(tensors.data[k]);
    return {begin, begin + tensors.n * ItemSize(tensors.dtype)};
  }

  /// The first range that does not begin below an address.
  auto FirstFrom(const char* end) const { return ends_.lower_bound(end); }

  /// Whether a tensor shares memory with one of the steps before.
  bool Meets(const FusedTensors& tensors) const {
    for (int k = 0; k < tensors.count; ++k) {
      const auto [begin, end] = RangeOf(tensors, k);
      const auto next = FirstFrom(end);
      if (next != ends_.begin() && std::prev(next)->second > begin) return true;
    }
    return false;
  }

  Place place_;
  FusedTable<Numbers> table_;
  std::map<const char*, const char*, std::less<>> ends_;  // of the memory of the steps, without overlaps, by the begin
};

template <class T, class Numbers>
void Step(const Place& place, const FusedArgs<Numbers>& args) {
  HeldLaunches* const held = HeldLaunches::Current();
  auto* steps = held == nullptr ? nullptr : held->Waiting<FusedSteps<T, Numbers>>();
  if (steps != nullptr && steps->Takes(place, args)) return steps->Add(args.tensors);
  auto next = std::make_unique<FusedSteps<T, Numbers>>(place, args);
  next->Add(args.tensors);
  held == nullptr ? next->Start() : held->Hold(std::move(next));
}

}  // namespace

REPDL_CUDA_KERNEL(FusedAdamKernel, FusedAdamArgs<float>) { Step<float>(place, args); }
REPDL_CUDA_KERNEL(FusedAdamKernel, FusedAdamArgs<double>) { Step<double>(place, args); }
REPDL_CUDA_KERNEL(FusedAdagradKernel, FusedAdagradArgs<float>) { Step<float>(place, args); }
REPDL_CUDA_KERNEL(FusedAdagradKernel, FusedAdagradArgs<double>) { Step<double>(place, args); }
REPDL_CUDA_KERNEL(FusedSgdKernel, FusedSgdArgs<float>) { Step<float>(place, args); }
REPDL_CUDA_KERNEL(FusedSgdKernel, FusedSgdArgs<double>) { Step<double>(place, args); }

}  // namespace repdl::cuda

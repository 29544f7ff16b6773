// SPDX-License-Identifier: MIT
// Functions of one number of 16 bits: there are so few of these that a table has the results of all.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <numeric>
#include <vector>

#include "drivers/map_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

/// The results of a function of bfloat16 or float16, by the bits of the number.
class ResultTable {
 public:
  static constexpr int64_t kSize = int64_t{1} << 16;

  /// Null while a table has not been worth its making: as many numbers must have come as it has.
  template <class Fill>
  const uint16_t* For(int64_t numel, const Fill& fill) {
    if (const uint16_t* made = results_.load(std::memory_order_acquire)) return made;
    if (seen_.fetch_add(numel, std::memory_order_relaxed) + numel < kSize) return nullptr;
    // Threads may make it at the same time; one of theirs stays, for as long as the process lives.
    auto results = std::make_unique<std::array<uint16_t, kSize>>();
    fill(results->data());
    const uint16_t* made = nullptr;
    if (results_.compare_exchange_strong(made, results->data(), std::memory_order_acq_rel)) {
      made = results.release()->data();
    }
    return made;
  }

 private:
  std::atomic<const uint16_t*> results_ = nullptr;
  std::atomic<int64_t> seen_ = 0;
};

/// MapWide of one operand that is side by side or has one stride, where a table of its results has been worth its making.
template <class F>
void MapWideByTable(const MapArgs& args, int64_t grain) {
  constexpr int64_t kFewest = 512;  // of fewer numbers, the table may have left the cache between two calls
  const DType dtype = args.output_dtype;
  if (dtype == DType::kFloat32 || args.input_dtypes[0] != dtype || args.rank != 1 || args.numel < kFewest) {
    return MapWide<F>(args, grain);
  }
  static ResultTable tables[2];  // of bfloat16 and float16
  const uint16_t* const table =
      tables[dtype == DType::kFloat16 ? 1 : 0].For(args.numel, [&](uint16_t* results) HWY_ATTR {
        std::vector<uint16_t> numbers(ResultTable::kSize);
        std::iota(numbers.begin(), numbers.end(), uint16_t{0});
        MapArgs all;
        all.rank = 1, all.shape[0] = all.numel = ResultTable::kSize, all.num_inputs = 1;
        all.inputs[0] = numbers.data(), all.input_dtypes[0] = dtype, all.strides[0][0] = 1;
        all.output = results, all.output_dtype = dtype;
        MapWide<F>(all, grain);
      });
  if (table == nullptr) return MapWide<F>(args, grain);
  const auto* const x = static_cast<const uint16_t*>(args.inputs[0]);
  auto* const y = static_cast<uint16_t*>(args.output);
  const int64_t stride = args.strides[0][0];
  ParallelRanges(args.numel, grain, [&](int64_t begin, int64_t end) {
#pragma GCC unroll 8
    for (int64_t i = begin; i < end; ++i) y[i] = table[x[i * stride]];
  });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

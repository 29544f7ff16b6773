// SPDX-License-Identifier: MIT
// Elements drawn by parameters of their own, each from 16 blocks of Philox4x32-10 at most.
#pragma once

#include "drivers/draw.h"
#include "drivers/philox_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

#include "numerics/parts/unit53.lane.h"

/// What goes through the buffers at a time: a number of whole vectors.
inline constexpr int64_t kDrawRun = 256;

/// Fills `to` with the numbers of operand t for elements `at` to `at + n - 1`, converted to T.
template <class T>
void GatherOperand(const MapArgs& map, int t, int64_t at, int64_t n, T* to) {
  const int inner = map.rank - 1;
  const int64_t stride = map.strides[t][inner];
  for (const int64_t end = at + n; at < end;) {
    int64_t rest = at / map.shape[inner];
    const int64_t column = at % map.shape[inner];
    int64_t offset = column * stride;
    for (int dim = inner - 1; dim >= 0; --dim) {
      offset += rest % map.shape[dim] * map.strides[t][dim];
      rest /= map.shape[dim];
    }
    const int64_t count = std::min(end - at, map.shape[inner] - column);
    if (map.input_dtypes[t] == DType::kFloat64) {
      const double* from = static_cast<const double*>(map.inputs[t]) + offset;
      for (int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(from[i * stride]);
    } else {
      float buffer[kDrawRun];
      const float* from = NumbersSideBySide(map.inputs[t], map.input_dtypes[t], offset, stride, count, buffer);
      for (int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(from[i]);
    }
    to += count;
    at += count;
  }
}

/// Stores n numbers from element `at` on: float64 as they are, others rounded to float32, then to their type.
template <class T>
void StoreDrawn(const MapArgs& map, int64_t at, int64_t n, const T* numbers) {
  if (map.output_dtype == DType::kFloat64) {
    std::copy_n(numbers, n, static_cast<double*>(map.output) + at);
    return;
  }
  float floats[kDrawRun];
  float* const to = map.output_dtype == DType::kFloat32 ? static_cast<float*>(map.output) + at : floats;
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(numbers[i]);
  if (to == floats) NarrowTo(map.output_dtype, floats, static_cast<uint16_t*>(map.output) + at, n);
}

/// output[i] = draw(block, inputs[i]...), in parallel; `draw` takes and gives vectors of T, and the number in the
/// stream of the element in their first lane. `grain` is the number of elements worth a fork.
template <int kInputs, class T, class F>
void Draw(const DrawArgs& args, int64_t grain, const F& draw) {
  const MapArgs& map = args.map;
  ParallelRanges(map.numel, grain, [&](int64_t begin, int64_t end) HWY_ATTR {
    const TagOf<T> d;
    HWY_ALIGN T x[kInputs][kDrawRun], y[kDrawRun];
    for (int64_t at = begin; at < end; at += kDrawRun) {
      const int64_t n = std::min(kDrawRun, end - at);
      for (int t = 0; t < kInputs; ++t) {
        GatherOperand(map, t, at, n, x[t]);
        std::fill(x[t] + n, x[t] + kDrawRun, T{1});  // a parameter of lanes behind the end that takes no long way
      }
      for (int64_t i = 0; i < n; i += kLanesOf<T>) {
        const uint64_t number = args.stream.offset + static_cast<uint64_t>(at + i);
        if constexpr (kInputs == 1) {
          Store(draw(number, Load(d, x[0] + i)), d, y + i);
        } else {
          Store(draw(number, Load(d, x[0] + i), Load(d, x[1] + i)), d, y + i);
        }
      }
      StoreDrawn(map, at, n, y);
    }
  });
}

/// Two numbers of [0, 1) with 53 bits for each lane, by words 0 and 1 and by words 2 and 3 of block 16 number + attempt;
/// `number` is that of the first lane, and the others follow.
HWY_INLINE void DrawUnitPair(const PhiloxStream& stream, uint64_t number, int attempt, VecOf<double>& first,
                             VecOf<double>& second) {
  const hn::ScalableTag<int64_t> d;
  auto x0 = Add(Set(d, static_cast<int64_t>(number * kDrawAttempts + static_cast<uint64_t>(attempt))),
                ShiftLeft<4>(hn::Iota(d, 0)));
  auto x1 = ShiftRightLogical<32>(x0);
  auto x2 = Set(d, static_cast<int64_t>(stream.call));
  auto x3 = ShiftRightLogical<32>(x2);
  PhiloxRounds(d, stream.keys, x0, x1, x2, x3);
  first = Unit53Of(TagOf<double>(), x0, x1);
  second = Unit53Of(TagOf<double>(), x2, x3);
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

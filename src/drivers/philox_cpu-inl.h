// SPDX-License-Identifier: MIT
// Fills tensors from the words of Philox4x32-10.
#pragma once

#include "base/parallel.h"
#include "drivers/narrow_cpu-inl.h"
#include "drivers/philox.h"
#include "drivers/vector_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

#include "numerics/parts/philox.lane.h"

using WordVec = hn::Vec<IntTag<FloatTag>>;

/// Words of kLanes blocks: a group.
inline constexpr int64_t kPhiloxGroup = 4 * kLanes;

/// What goes through a buffer at a time: a number of whole groups.
inline constexpr int64_t kPhiloxRun = 512;

/// Words 0 to 3 of the blocks `block` to `block + kLanes - 1`.
HWY_INLINE void PhiloxGroup(const PhiloxKeys& keys, uint64_t call, uint64_t block, WordVec& w0, WordVec& w1,
                            WordVec& w2, WordVec& w3) {
  const hn::ScalableTag<int64_t> d;
  const IntTag<FloatTag> d32;
  const auto start = [&](uint64_t first, auto& x0, auto& x1, auto& x2, auto& x3) HWY_ATTR {
    x0 = Add(Set(d, static_cast<int64_t>(first)), ShiftLeft<1>(hn::Iota(d, 0)));
    x1 = ShiftRightLogical<32>(x0);
    x2 = Set(d, static_cast<int64_t>(call));
    x3 = ShiftRightLogical<32>(x2);
  };
  hn::Vec<decltype(d)> x0, x1, x2, x3;
  start(block, x0, x1, x2, x3);
  PhiloxRounds(d, keys, x0, x1, x2, x3);
#if HWY_TARGET == HWY_SCALAR
  const auto words = [&](auto x) HWY_ATTR { return Set(d32, static_cast<int32_t>(hn::GetLane(x))); };
  w0 = words(x0), w1 = words(x1), w2 = words(x2), w3 = words(x3);
#else
  // Lane j of the first is block 2 j, of the second block 2 j + 1.
  hn::Vec<decltype(d)> y0, y1, y2, y3;
  start(block + 1, y0, y1, y2, y3);
  PhiloxRounds(d, keys, y0, y1, y2, y3);
  const auto words = [&](auto even, auto odd) HWY_ATTR {
#if HWY_IS_BIG_ENDIAN
    return hn::OddEven(BitCast(d32, odd), BitCast(d32, ShiftLeft<32>(even)));
#else
    return hn::OddEven(BitCast(d32, ShiftLeft<32>(odd)), BitCast(d32, even));
#endif
  };
  w0 = words(x0, y0), w1 = words(x1, y1), w2 = words(x2, y2), w3 = words(x3, y3);
#endif
}

/// Fills `values` with what `f` makes of the words of `num_groups` groups.
using PhiloxRun = void (*)(const void* f, const PhiloxStream& stream, uint64_t block, int64_t num_groups,
                           float* values);

template <class F>
void RunPhilox(const void* f, const PhiloxStream& stream, uint64_t block, int64_t num_groups, float* values) {
  const F& function = *static_cast<const F*>(f);
  for (int64_t group = 0; group < num_groups; ++group) {
    WordVec w0, w1, w2, w3;
    PhiloxGroup(stream.keys, stream.call, block + static_cast<uint64_t>(group * kLanes), w0, w1, w2, w3);
    Vec v0, v1, v2, v3;
    function(w0, w1, w2, w3, v0, v1, v2, v3);
    hn::StoreInterleaved4(v0, v1, v2, v3, FloatTag(), values + group * kPhiloxGroup);
  }
}

/// Stores n elements that lie `stride` apart, the first at `offset`.
using PhiloxStore = void (*)(const void* f, const float* values, const MapArgs& map, int64_t offset, int64_t stride,
                             int64_t n);

inline HWY_MAYBE_UNUSED void StoreFloats(const void*, const float* values, const MapArgs& map, int64_t offset,
                                         int64_t stride, int64_t n) {
  if (map.output_dtype == DType::kFloat32) {
    float* to = static_cast<float*>(map.output) + offset;
    for (int64_t i = 0; i < n; ++i) to[i * stride] = values[i];
    return;
  }
  uint16_t halves[kPhiloxRun];
  uint16_t* to = static_cast<uint16_t*>(map.output) + offset;
  NarrowTo(map.output_dtype, values, stride == 1 ? to : halves, n);
  if (stride == 1) return;
  for (int64_t i = 0; i < n; ++i) to[i * stride] = halves[i];
}

/// Stores elements `at` to `at + n - 1`, which `values` holds.
inline HWY_MAYBE_UNUSED void StoreAt(const MapArgs& map, int64_t at, int64_t n, const float* values,
                                     int64_t words_per_element, PhiloxStore store, const void* f) {
  const int inner = map.rank - 1;
  for (const int64_t end = at + n; at < end;) {
    int64_t rest = at / map.shape[inner], column = at % map.shape[inner];
    int64_t offset = column * map.strides[0][inner];
    for (int dim = inner - 1; dim >= 0; --dim) {
      offset += rest % map.shape[dim] * map.strides[0][dim];
      rest /= map.shape[dim];
    }
    const int64_t count = std::min(end - at, map.shape[inner] - column);
    store(f, values, map, offset, map.strides[0][inner], count);
    values += count * words_per_element;
    at += count;
  }
}

/// Fills a tensor, in parallel: element i from words_per_element (1 or 2) words. `grain` is the number of elements worth
/// a fork.
inline HWY_MAYBE_UNUSED void FillPhilox(const PhiloxArgs& args, int64_t grain, int64_t words_per_element, PhiloxRun run,
                                        PhiloxStore store, const void* f) {
  const MapArgs& map = args.map;
  const bool is_direct = map.output_dtype == DType::kFloat32 && map.rank == 1 && map.strides[0][0] == 1;
  const int64_t words = words_per_element;
  ParallelRanges(map.numel, grain, [&](int64_t begin, int64_t end) HWY_ATTR {
    HWY_ALIGN float buffer[kPhiloxRun];
    for (int64_t at = begin; at < end;) {
      const uint64_t word = static_cast<uint64_t>(words) * (args.stream.offset + static_cast<uint64_t>(at));
      const auto skipped = static_cast<int64_t>(word % 4);
      if (is_direct && skipped == 0 && end - at >= kPhiloxGroup) {
        const int64_t num_groups = (end - at) / kPhiloxGroup;
        run(f, args.stream, word / 4, num_groups, static_cast<float*>(map.output) + at);
        at += num_groups * kPhiloxGroup;
        continue;
      }
      const int64_t n = std::min((kPhiloxRun - skipped) / words, end - at);
      run(f, args.stream, word / 4, (skipped + n * words + kPhiloxGroup - 1) / kPhiloxGroup, buffer);
      StoreAt(map, at, n, buffer + skipped, words, store, f);
      at += n;
    }
  });
}

/// Element i is what f makes of word i, or of a pair of words, rounded to the type of the tensor.
template <class F>
void FillFloats(const PhiloxArgs& args, int64_t grain, const F& f) {
  FillPhilox(args, grain, 1, &RunPhilox<F>, &StoreFloats, &f);
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

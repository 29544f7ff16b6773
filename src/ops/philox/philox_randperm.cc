// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "base/arena.h"
#include "base/check.h"
#include "base/op_scratch.h"
#include "repdl/ops/philox.h"

namespace repdl {
namespace {

struct Entry {
  uint64_t key;
  int64_t index;
};

inline bool IsBefore(const Entry& a, const Entry& b) { return a.key != b.key ? a.key < b.key : a.index < b.index; }

/// Sorts a bucket, of which most hold few entries: those are inserted one after the other.
inline void SortBucket(Entry* begin, Entry* end) {
  constexpr int64_t kFew = 16;
  if (end - begin > kFew) {
    std::sort(begin, end, IsBefore);
    return;
  }
  for (Entry* next = begin + 1; next < end; ++next) {
    const Entry entry = *next;
    Entry* to = next;
    for (; to > begin && IsBefore(entry, to[-1]); --to) *to = to[-1];
    *to = entry;
  }
}

}  // namespace

void PhiloxRandperm(InOut tensor, int64_t seed, int64_t call) {
  InferPhiloxRandperm(tensor, seed, call);
  const Place place = PlaceOf("philox_randperm", tensor);
  const int64_t n = tensor.numel();
  if (n == 0) return;
  OpScratch scratch(place);
  const TensorView numbers = scratch.New(DType::kInt64, {n});
  PhiloxRandint(numbers, seed, call, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(), 0);
  const auto* const random = numbers.Data<const int64_t>();
  const auto key_of = [&](int64_t i) { return static_cast<uint64_t>(random[i]) ^ uint64_t { 1 } << 63; };
  // Into buckets by the highest bits, about as many as there are numbers; then each bucket for itself.
  const int bits = std::clamp(static_cast<int>(std::bit_width(static_cast<uint64_t>(n))) - 1, 1, 18);
  const auto bucket_of = [&](uint64_t key) { return static_cast<int64_t>(key >> (64 - bits)); };
  const int64_t buckets = int64_t{1} << bits;
  auto* const ends = scratch.Get<int64_t>(buckets);
  std::fill_n(ends, buckets, 0);
  for (int64_t i = 0; i < n; ++i) ++ends[bucket_of(key_of(i))];
  int64_t begin = 0;
  for (int64_t bucket = 0; bucket < buckets; ++bucket) begin += std::exchange(ends[bucket], begin);
  auto* const entries = scratch.Get<Entry>(n);
  for (int64_t i = 0; i < n; ++i) entries[ends[bucket_of(key_of(i))]++] = {key_of(i), i};
  begin = 0;
  for (int64_t bucket = 0; bucket < buckets; ++bucket) {
    SortBucket(entries + begin, entries + ends[bucket]);
    begin = ends[bucket];
  }
  auto* const to = tensor.Data<int64_t>();
  const int64_t stride = tensor.strides[0];
  for (int64_t i = 0; i < n; ++i) to[i * stride] = entries[i].index;
}

}  // namespace repdl

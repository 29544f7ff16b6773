// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>
#include <utility>

#include "base/arena.h"
#include "drivers/vector_cpu-inl.h"
#include "ops/philox/philox_randperm_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
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

void PhiloxRandpermKernel(const PhiloxRandpermArgs& args) {
  Scratch scratch;
  const auto key_of = [&](int64_t i) { return static_cast<uint64_t>(args.random[i]) ^ PhiloxRandpermArgs::kSign; };
  // Into buckets by the highest bits, about as many as there are numbers; then each bucket for itself.
  const int bits = std::clamp(static_cast<int>(std::bit_width(static_cast<uint64_t>(args.n))) - 1, 1, 18);
  const auto bucket_of = [&](uint64_t key) { return static_cast<int64_t>(key >> (64 - bits)); };
  const int64_t buckets = int64_t{1} << bits;
  auto* const ends = scratch.Get<int64_t>(buckets);
  std::fill_n(ends, buckets, 0);
  for (int64_t i = 0; i < args.n; ++i) ++ends[bucket_of(key_of(i))];
  int64_t begin = 0;
  for (int64_t bucket = 0; bucket < buckets; ++bucket) begin += std::exchange(ends[bucket], begin);
  auto* const entries = scratch.Get<Entry>(args.n);
  for (int64_t i = 0; i < args.n; ++i) entries[ends[bucket_of(key_of(i))]++] = {key_of(i), i};
  begin = 0;
  for (int64_t bucket = 0; bucket < buckets; ++bucket) {
    SortBucket(entries + begin, entries + ends[bucket]);
    begin = ends[bucket];
  }
  for (int64_t i = 0; i < args.n; ++i) args.to[i * args.stride] = entries[i].index;
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

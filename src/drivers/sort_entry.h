// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "numerics/order.h"

namespace repdl {

/// A key and its place. All of a row differ, so there is one order of them, and whatever sorts them is stable.
template <class Key>
struct SortEntry {
  Key key;
  uint64_t place;
  REPDL_WALK static SortEntry Make(Key key, int64_t place) { return {key, static_cast<uint64_t>(place)}; }
  REPDL_WALK int64_t Place() const { return static_cast<int64_t>(place); }
  REPDL_WALK Key KeyOf() const { return key; }
  REPDL_WALK friend bool operator<(const SortEntry& a, const SortEntry& b) {
    return a.key < b.key || (a.key == b.key && a.place < b.place);
  }
};
template <>
struct SortEntry<uint32_t> {
  uint64_t both;
  REPDL_WALK static SortEntry Make(uint32_t key, int64_t place) {
    return {uint64_t{key} << 32 | static_cast<uint64_t>(place)};
  }
  REPDL_WALK int64_t Place() const { return static_cast<int64_t>(both & 0xffffffff); }
  REPDL_WALK uint32_t KeyOf() const { return static_cast<uint32_t>(both >> 32); }
  REPDL_WALK friend bool operator<(const SortEntry& a, const SortEntry& b) { return a.both < b.both; }
};

/// How many of n sorted entries come before `entry`.
template <class Key>
REPDL_WALK int64_t CountBefore(const SortEntry<Key>* entries, int64_t n, const SortEntry<Key>& entry) {
  int64_t first = 0, last = n;
  while (first < last) {
    const int64_t middle = first + (last - first) / 2;
    if (entries[middle] < entry) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  return first;
}

}  // namespace repdl

// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace repdl {

/// A key and its place. All of a row differ, so there is one order of them.
template <class Key>
struct SortEntry {
  Key key;
  uint64_t place;
  static SortEntry Make(Key key, int64_t place) { return {key, static_cast<uint64_t>(place)}; }
  int64_t Place() const { return static_cast<int64_t>(place); }
  Key KeyOf() const { return key; }
  friend bool operator<(const SortEntry& a, const SortEntry& b) {
    return a.key < b.key || (a.key == b.key && a.place < b.place);
  }
};
template <>
struct SortEntry<uint32_t> {
  uint64_t both;
  static SortEntry Make(uint32_t key, int64_t place) { return {uint64_t{key} << 32 | static_cast<uint64_t>(place)}; }
  int64_t Place() const { return static_cast<int64_t>(both & 0xffffffff); }
  uint32_t KeyOf() const { return static_cast<uint32_t>(both >> 32); }
  friend bool operator<(const SortEntry& a, const SortEntry& b) { return a.both < b.both; }
};

}  // namespace repdl

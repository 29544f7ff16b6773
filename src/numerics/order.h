// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

// The constants of the contract (docs/arithmetic.md, "Orders") and the shape of its tree.

namespace repdl {

/// L: a chain of products restarts after this many terms in order `blocked`.
inline constexpr int64_t kProductChunk = 256;

/// A sum in order `blocked` works on chunks of this many terms ...
inline constexpr int64_t kSumChunk = 4096;
/// ... and term i of a chunk belongs to lane i mod kSumLanes.
inline constexpr int64_t kSumLanes = 64;

/// The aligned binary tree as a binary counter over chunks. When chunk `index` is done, its value
/// takes in the waiting partial sums of the returned levels, lowest first (the waiting one on the
/// left: it covers earlier terms), and then waits itself at the level `Park`. After the last chunk
/// every waiting partial sum is taken in, lowest level first, and nothing waits.
///
/// Calls take(level) for each of them.
template <class Take>
constexpr void TakeIn(int64_t index, bool last, const Take& take) {
  for (int level = 0; index >> level != 0; ++level) {
    if ((index >> level & 1) != 0) {
      take(level);
    } else if (!last) {
      return;
    }
  }
}

/// Level at which the value of chunk `index` waits: the number of trailing ones of the index.
constexpr int Park(int64_t index) {
  int level = 0;
  while ((index >> level & 1) != 0) ++level;
  return level;
}

/// Number of levels that `num_chunks` chunks need.
constexpr int NumLevels(int64_t num_chunks) {
  int levels = 0;
  while (num_chunks >> levels > 1) ++levels;
  return levels + 1;
}

}  // namespace repdl

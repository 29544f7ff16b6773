// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

// The constants of the contract (docs/arithmetic.md, "Orders"), the shape of its tree and the walk over it.

/// The walk is part of a kernel, on the host and in CUDA: a visitor's values stay in registers.
#if defined(__CUDACC__)
#define REPDL_WALK __host__ __device__ __forceinline__ constexpr
#else
#define REPDL_WALK [[gnu::always_inline]] inline constexpr
#endif

namespace repdl {

/// L: a chain of products restarts after this many terms in order `blocked`.
inline constexpr int64_t kProductChunk = 256;

/// A sum in order `blocked` works on chunks of this many terms ...
inline constexpr int64_t kSumChunk = 4096;
/// ... and term i of a chunk belongs to lane i mod kSumLanes.
inline constexpr int64_t kSumLanes = 64;

/// Levels at which partial sums of any number of chunks may wait.
inline constexpr int kMaxLevels = 64;

/// Where the chains of `num_terms` terms end: after every `length` terms. Without a term there is one chain, of none.
struct Chunks {
  REPDL_WALK Chunks(int64_t num_terms, int64_t length)
      : num_terms(num_terms), length(length), count(num_terms > length ? (num_terms + length - 1) / length : 1) {}

  REPDL_WALK int64_t Begin(int64_t index) const { return index * length; }
  REPDL_WALK int64_t End(int64_t index) const {
    return num_terms < (index + 1) * length ? num_terms : (index + 1) * length;
  }
  /// The chunk that has term k.
  REPDL_WALK int64_t IndexOf(int64_t k) const { return k / length; }

  int64_t num_terms, length, count;
};

/// Terms [begin, end), of which those before `first` < end are absent.
struct TermRange {
  int64_t begin, end;
  int64_t first = 0;
};

/// The aligned binary tree as a binary counter: what the value of chunk `index` does when its chain is at its end. It
/// takes in the partial sums that wait at the levels of the trailing ones of the index, lowest level first, and waits
/// at the next level. The value of the last chunk takes in all that wait.
template <class Visitor>
REPDL_WALK void EndChunk(int64_t index, bool last, Visitor& visitor) {
  int level = 0;
  for (; index >> level != 0; ++level) {
    if ((index >> level & 1) != 0) {
      visitor.TakeIn(level);
    } else if (!last) {
      break;
    }
  }
  if (last) {
    visitor.End();
  } else {
    visitor.Park(level);
  }
}

namespace internal {

template <class AnyChunks, class Visitor>
REPDL_WALK void WalkSteps(const AnyChunks& chunks, const TermRange& range, int64_t step, Visitor& visitor) {
  int64_t k = range.begin < range.first ? range.first : range.begin;
  int64_t index = chunks.IndexOf(k), chain_begin = chunks.Begin(index);
  if (chain_begin < range.first) chain_begin = range.first;
  do {
    const int64_t chunk_end = chunks.End(index);
    int64_t end = k + step < chunk_end ? k + step : chunk_end;
    if (range.end < end) end = range.end;
    visitor.Chain(k, end, k != chain_begin);
    if (end < chunk_end) {
      visitor.Hold();
    } else {
      EndChunk(index, index + 1 == chunks.count, visitor);
      chain_begin = chunk_end;
      ++index;
    }
    k = end;
  } while (k < range.end || (k == chunks.num_terms && index < chunks.count));
}

}  // namespace internal

/// The walk over the terms of a sum: which terms make a chain, and how the chains' values meet. The visitor has the
/// value of the chain under way, or those of many chains with the same terms, and the partial sums that wait. The walk
/// calls, for each chunk,
///   Chain(begin, end)  the value becomes that of a new chain over these terms
///   TakeIn(level)      perhaps, for some levels: value = what waits there + value; what waits covers earlier terms
///   Park(level)        the value waits at this level; or
///   End()              after the last chunk: the value is the result, and nothing waits.
///
/// `chunks` is a Chunks or has its members; a chunk may have no terms.
template <class AnyChunks, class Visitor>
REPDL_WALK void WalkChunks(const AnyChunks& chunks, Visitor& visitor) {
  for (int64_t index = 0; index < chunks.count; ++index) {
    visitor.Chain(chunks.Begin(index), chunks.End(index));
    EndChunk(index, index + 1 == chunks.count, visitor);
  }
}

/// The same walk in steps of at most `step` terms. Chain has one more argument, and a step may end with one more call:
///   Chain(begin, end, resumes)  the chain begins with these terms, or it resumes with them from the held value
///   Hold()                      the chain is not at its end yet: its value is held.
template <class AnyChunks, class Visitor>
REPDL_WALK void WalkSteps(const AnyChunks& chunks, int64_t step, Visitor& visitor) {
  internal::WalkSteps(chunks, {0, chunks.num_terms}, step, visitor);
}

/// The same over a range of the terms. Calls with ascending ranges that cover all terms make one walk, if the visitor
/// keeps what waits; the first one has the first present term. It begins with
///   ParkZero(level)  perhaps, for some levels: the value that waits there, of absent chunks alone, is +0.
template <class AnyChunks, class Visitor>
REPDL_WALK void WalkSteps(const AnyChunks& chunks, const TermRange& range, int64_t step, Visitor& visitor) {
  const int64_t absent = range.begin <= range.first ? chunks.IndexOf(range.first) : 0;
  for (int level = 0; absent >> level != 0; ++level) {
    if ((absent >> level & 1) != 0) visitor.ParkZero(level);
  }
  internal::WalkSteps(chunks, range, step, visitor);
}

/// Number of levels that `num_chunks` chunks need.
REPDL_WALK int NumLevels(int64_t num_chunks) {
  int levels = 0;
  while (num_chunks >> levels > 1) ++levels;
  return levels + 1;
}

}  // namespace repdl

// SPDX-License-Identifier: MIT
// The words of rows (row_cpu-inl.h) for rows that lie across memory: each lane of a vector has a row of its own, so that
// what is a number of one row there is a vector here, and no lane meets another. Each row has the bits that it has there.
#pragma once

#include <algorithm>
#include <limits>

#include "drivers/reduce.h"
#include "drivers/row_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

/// The same place of each row.
struct SharedPlace {
  int64_t place;
};
/// A place of its own for each row: kLanesOf<T> of them.
struct OwnPlaces {
  const int64_t* places;
};

/// Numbers in memory, the kLanesOf<T> of each place side by side, aligned to a vector.
template <class T>
struct ColumnNumbers {
  using V = VecOf<T>;

  T* data;

  HWY_INLINE V operator()(SharedPlace at) const { return Load(TagOf<T>(), data + at.place * kLanesOf<T>); }
  HWY_INLINE V operator()(OwnPlaces at) const {
    HWY_ALIGN T numbers[kLanesOf<T>];
    for (int64_t j = 0; j < kLanesOf<T>; ++j) numbers[j] = data[at.places[j] * kLanesOf<T> + j];
    return Load(TagOf<T>(), numbers);
  }
  HWY_INLINE void Put(SharedPlace at, V v) const { Store(v, TagOf<T>(), data + at.place * kLanesOf<T>); }
  HWY_INLINE void Put(OwnPlaces at, V v) const {
    HWY_ALIGN T numbers[kLanesOf<T>];
    Store(v, TagOf<T>(), numbers);
    for (int64_t j = 0; j < kLanesOf<T>; ++j) data[at.places[j] * kLanesOf<T> + j] = numbers[j];
  }
};

/// One number for each place, which all rows share.
template <class T>
struct SharedNumbers {
  using V = VecOf<T>;

  const T* data;

  HWY_INLINE V operator()(SharedPlace at) const { return Set(TagOf<T>(), data[at.place]); }
  HWY_INLINE V operator()(OwnPlaces at) const {
    HWY_ALIGN T numbers[kLanesOf<T>];
    for (int64_t j = 0; j < kLanesOf<T>; ++j) numbers[j] = data[at.places[j]];
    return Load(TagOf<T>(), numbers);
  }
};

/// One chunk of order `blocked`, n <= kSumChunk: term(i) is term i of each row.
template <class T, class Term>
HWY_INLINE VecOf<T> SumChunkOfColumns(int64_t n, const Term& term) {
  const TagOf<T> d;
  VecElementOf<T> acc[kSumLanes];
  const int64_t used = std::min(n, kSumLanes);
  for (int64_t lane = 0; lane < used; ++lane) acc[lane] = Add(Zero(d), term(lane));
  for (int64_t i = kSumLanes; i < n; i += kSumLanes) {
    for (int64_t lane = 0; lane < std::min(kSumLanes, n - i); ++lane) acc[lane] = Add(acc[lane], term(i + lane));
  }
  // Lanes without a term are +0 and change nothing: none of the others is -0.
  for (int64_t h = kSumLanes / 2; h >= 1; h /= 2) {
    for (int64_t lane = 0; lane < h && lane + h < used; ++lane) acc[lane] = Add(acc[lane], acc[lane + h]);
  }
  return acc[0];
}

/// Visits the chunks of the sums; sum_chunk(begin, count) is the values of a chunk.
template <class T, class SumChunk>
class ColumnsVisitor {
 public:
  explicit ColumnsVisitor(const SumChunk& sum_chunk) : sum_chunk_(sum_chunk) {}

  void Chain(int64_t begin, int64_t end) { value_ = sum_chunk_(begin, end - begin); }
  void TakeIn(int level) { value_ = Add(VecOf<T>(waiting_[level]), VecOf<T>(value_)); }
  void Park(int level) { waiting_[level] = value_; }
  void End() {}

  VecOf<T> value() const { return value_; }

 private:
  const SumChunk& sum_chunk_;
  VecElementOf<T> value_;
  VecElementOf<T> waiting_[kMaxLevels];
};

/// kLanesOf<T> rows of n places. The words are those of Row.
template <class T>
struct Columns {
  using Number = T;
  using V = VecOf<T>;

  int64_t n;
  Order order;

  TagOf<T> Tag() const { return {}; }
  static V OneOf(V v) { return v; }
  static V Spread(V v) { return v; }

  template <class Body>
  HWY_INLINE void Each(const Body& body) const {
    for (int64_t i = 0; i < n; ++i) body(SharedPlace{i});
  }
  template <class Body>
  HWY_INLINE void At(const int64_t* places, const Body& body) const {
    body(OwnPlaces{places});
  }
  template <class Term>
  HWY_INLINE V Get(const int64_t* places, const Term& term) const {
    return term(OwnPlaces{places});
  }
  HWY_INLINE V Max(const ColumnNumbers<T>& x) const {
    V largest = Set(Tag(), -std::numeric_limits<T>::infinity());
    Each([&](SharedPlace at) HWY_ATTR { largest = hn::Max(largest, x(at)); });
    return largest;
  }
  template <class Term>
  HWY_INLINE V Sum(const Term& term) const {
    if (order == Order::kSequential) {
      V acc = Zero(Tag());
      Each([&](SharedPlace at) HWY_ATTR { acc = Add(acc, term(at)); });
      return acc;
    }
    const auto sum_chunk = [&](int64_t begin, int64_t count) HWY_ATTR {
      return SumChunkOfColumns<T>(count, [&](int64_t i) HWY_ATTR { return term(SharedPlace{begin + i}); });
    };
    if (n <= kSumChunk) return n == 0 ? Zero(Tag()) : sum_chunk(0, n);
    ColumnsVisitor<T, decltype(sum_chunk)> visitor(sum_chunk);
    WalkChunks(Chunks(n, kSumChunk), visitor);
    return visitor.value();
  }
  template <class Term>
  HWY_INLINE V SumByChunk(const Term& term) const {
    return Sum(term);
  }
};

/// Numbers of a row that fill little of a vector, so that it is turned though they lie side by side.
template <class T>
inline constexpr int64_t kFewPlaces = kLanesOf<T> * 3 / 4;

/// Rows that are worth Columns: those that lie across memory, and fit into caches kLanesOf<T> at a time, and short ones.
template <class T>
bool AreColumns(int64_t num_rows, int64_t n, int64_t stride) {
  if (stride == 1) return n > 1 && n <= kFewPlaces<T> && 2 * num_rows > kLanesOf<T>;
  return kLanesOf<T> > 1 && num_rows > 1 && n > 1 && n <= 65536;
}

/// Groups of kLanesOf<T> rows that are fetched together, so that each place is a run of memory which the processor
/// fetches ahead. They fill no more than a part of a cache, and leave enough work for each thread.
template <class T>
int64_t GroupsTogether(int64_t num_rows, int64_t n) {
  const int64_t most = 16384 / (n * kLanesOf<T>), shared = num_rows / (kLanesOf<T> * 4 * GetNumThreads());
  return std::clamp<int64_t>(std::min(most, shared), 1, 64);
}

/// Calls body(first, count) for at most `together` groups of kLanesOf<T> rows; the rows lie side by side if those of
/// `starts` do.
template <class T, class Body>
HWY_INLINE void ForColumns(const Loops& starts, int64_t num_rows, int64_t n, const Body& body, int64_t together = 1) {
  const int64_t inner = std::max(starts.InnerSize(), kLanesOf<T>), most = together * kLanesOf<T>;
  const int64_t groups = (inner + most - 1) / most;
  const int64_t outer = (num_rows + inner - 1) / inner;
  ParallelRanges(outer * groups, 4096 / (n * most) + 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t g = begin; g < end; ++g) {
      const int64_t column = g % groups * most, first = g / groups * inner + column;
      const int64_t count = std::min({most, inner - column, num_rows - first});
      if (count > 0) body(first, count);
    }
  });
}

/// Calls body(lane, count, offset) for the parts of groups of rows that lie side by side.
template <class T, class Body>
HWY_INLINE void ForParts(const Loops& starts, int64_t first, int64_t count, const Body& body) {
  for (int64_t lane = 0; lane < count;) {
    const int64_t left = starts.InnerSize() - (first + lane) % starts.InnerSize();
    const int64_t part = std::min(left, count - lane);
    body(lane, part, starts.Offset(first + lane));
    lane += part;
  }
}

/// Calls body(i, j, in_group, count) for the numbers of place i that lie side by side in memory and in a group: those of
/// rows j to j + count of a part, which are at `in_group` of the groups.
template <class T, class Body>
HWY_INLINE void ForPlaces(int64_t n, int64_t lane, int64_t part, const Body& body) {
  constexpr int64_t kLength = kLanesOf<T>;
  for (int64_t i = 0; i < n; ++i) {
    int64_t j = 0;
    if (lane % kLength == 0) {
      int64_t in_group = (lane / kLength * n + i) * kLength;
      for (; j + kLength <= part; j += kLength, in_group += n * kLength) body(i, j, in_group, kLength);
    }
    while (j < part) {
      const int64_t row = lane + j, count = std::min(kLength - row % kLength, part - j);
      body(i, j, (row / kLength * n + i) * kLength + row % kLength, count);
      j += count;
    }
  }
}

/// Calls body(offset, in_group) for rows that lie apart: where the first number of each is, in memory and in the groups.
template <class T, class Body>
HWY_INLINE void ForRowsApart(const Loops& starts, int64_t first, int64_t count, int64_t n, const Body& body) {
  constexpr int64_t kLength = kLanesOf<T>;
  for (int64_t lane = 0; lane < count; ++lane) {
    body(starts.Offset(first + lane), lane / kLength * n * kLength + lane % kLength);
  }
}

/// Groups of rows, each in the order of ColumnNumbers; lanes without a row have +0.
template <class T>
ColumnNumbers<T> TakeColumns(const T* x, const Loops& starts, int64_t stride, int64_t n, int64_t first, int64_t count,
                             T* to) {
  constexpr int64_t kLength = kLanesOf<T>;
  if (count % kLength != 0) std::fill_n(to + count / kLength * n * kLength, n * kLength, T{0});
  if (starts.InnerStride() != 1) {
    ForRowsApart<T>(starts, first, count, n, [&](int64_t offset, int64_t in_group) {
      for (int64_t i = 0; i < n; ++i) to[in_group + i * kLength] = x[offset + i * stride];
    });
    return {to};
  }
  ForParts<T>(starts, first, count, [&](int64_t lane, int64_t part, int64_t offset) HWY_ATTR {
    const T* const from = x + offset;
    ForPlaces<T>(n, lane, part, [&](int64_t i, int64_t j, int64_t in_group, int64_t some) HWY_ATTR {
      if (some == 1) {
        to[in_group] = from[i * stride + j];
      } else {
        StoreN(LoadN(from + i * stride + j, some), to + in_group, some);
      }
    });
  });
  return {to};
}

/// The rows of groups put where they belong.
template <class T>
void PutColumns(const T* from, int64_t n, T* x, const Loops& starts, int64_t stride, int64_t first, int64_t count) {
  if (starts.InnerStride() != 1) {
    ForRowsApart<T>(starts, first, count, n, [&](int64_t offset, int64_t in_group) {
      for (int64_t i = 0; i < n; ++i) x[offset + i * stride] = from[in_group + i * kLanesOf<T>];
    });
    return;
  }
  ForParts<T>(starts, first, count, [&](int64_t lane, int64_t part, int64_t offset) HWY_ATTR {
    T* const to = x + offset;
    ForPlaces<T>(n, lane, part, [&](int64_t i, int64_t j, int64_t in_group, int64_t some) HWY_ATTR {
      if (some == 1) {
        to[i * stride + j] = from[in_group];
      } else {
        StoreN(LoadN(from + in_group, some), to + i * stride + j, some);
      }
    });
  });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

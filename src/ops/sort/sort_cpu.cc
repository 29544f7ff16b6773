// SPDX-License-Identifier: MIT
#include <algorithm>
#include <limits>

#include "base/arena.h"
#include "base/parallel.h"
#include "drivers/sort_entry.h"
#include "drivers/vector_cpu-inl.h"
#include "ops/sort/sort_kernel.h"
#include "ops/sort/sort_key.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

/// Elements whose keys are made at a time.
constexpr int64_t kPiece = 256;
/// Rows up to this length are not worth the counters of a radix sort, and the shortest no memory.
constexpr int64_t kShort = 128, kFew = 16;
/// Elements that are worth a fork.
constexpr int64_t kGrain = 8192;
/// The shortest row that several threads sort together.
constexpr int64_t kLong = 65536;

template <class Keys>
class Row {
  using Bits = typename Keys::Bits;
  using Key = typename Keys::Key;
  using E = SortEntry<Key>;
  static constexpr Key kLast = std::numeric_limits<Key>::max();

 public:
  Row(const SortArgs& args, int64_t row)
      : args_(args),
        n_(args.n),
        flip_(args.descending ? kLast : Key{0}),
        x_(static_cast<const Bits*>(args.x) + row * args.n),
        values_(static_cast<Bits*>(args.values) + row * args.k),
        places_(args.indices + row * args.k) {}

  /// With so many threads, of which the caller is one.
  void Run(int64_t threads) const {
    if (args_.choice == Choice::kMode) return MostFrequent();
    if (args_.choice != Choice::kFirst) return Choose();
    if (args_.k == 1) return Best();
    if (n_ <= kFew) return Insert();
    Scratch scratch;
    if (args_.k <= n_ / 8) return First(scratch);
    E* const entries = Sorted(scratch, threads);
    Give(entries, threads);
  }

 private:
  /// The keys of the elements from `begin` on, in an order that is to ascend.
  HWY_INLINE void KeysOf(int64_t begin, int64_t count, Key* keys) const {
    const Bits* const x = x_ + begin;
    const Key flip = flip_;
    for (int64_t i = 0; i < count; ++i) keys[i] = Keys::Of(x[i]) ^ flip;
  }

  void Give(const E* entries, int64_t threads) const {
    ForRanges(args_.k, threads, [&](int64_t begin, int64_t end) HWY_ATTR {
      for (int64_t i = begin; i < end; ++i) {
        places_[i] = entries[i].Place();
        values_[i] = x_[entries[i].Place()];
      }
    });
  }

  template <class Body>
  static void ForRanges(int64_t n, int64_t chunks, const Body& body) {
    if (chunks == 1) return body(int64_t{0}, n);
    ParallelFor(chunks, [&](int64_t c) HWY_ATTR { body(n * c / chunks, n * (c + 1) / chunks); });
  }

  /// The first one alone.
  void Best() const {
    Key keys[kPiece];
    Key best = 0;
    int64_t place = -1;
    for (int64_t i = 0; i < n_; i += kPiece) {
      const int64_t n = std::min(kPiece, n_ - i);
      KeysOf(i, n, keys);
      Key least = keys[0];
      for (int64_t j = 1; j < n; ++j) least = keys[j] < least ? keys[j] : least;
      if (place >= 0 && least >= best) continue;
      best = least;
      place = i + (std::find(keys, keys + n, least) - keys);
    }
    places_[0] = place;
    values_[0] = x_[place];
  }

  /// A few, each put where it belongs among those before it.
  void Insert() const {
    E entries[kFew];
    for (int64_t i = 0; i < n_; ++i) {
      const E entry = E::Make(Keys::Of(x_[i]) ^ flip_, i);
      int64_t at = i;
      for (; at > 0 && entry < entries[at - 1]; --at) entries[at] = entries[at - 1];
      entries[at] = entry;
    }
    Give(entries, 1);
  }

  /// The first k of many, which are more than `room`: then entries are kept only if they come before the last of the k
  /// best so far.
  void First(Scratch& scratch) const {
    const hn::ScalableTag<Key> d;
    constexpr int64_t kN = HWY_LANES(Key);
    const int64_t k = args_.k, room = k + std::max<int64_t>(k, 6);
    E* const kept = scratch.Get<E>(room);
    HWY_ALIGN Key keys[kPiece + kN];
    int64_t count = 0;
    Key last = kLast;  // of the k best, once there are k
    const auto shrink = [&]() HWY_ATTR {
      std::nth_element(kept, kept + (k - 1), kept + count);
      count = k;
      last = kept[k - 1].KeyOf();
    };
    for (int64_t i = 0; i < n_;) {
      const int64_t n = std::min(kPiece, n_ - i);
      KeysOf(i, n, keys);
      int64_t j = 0;
      for (; j < n && i + j < room; ++j) kept[count++] = E::Make(keys[j], i + j);
      if (i < room && i + j == room) shrink();
      std::fill(keys + n, keys + n + kN, kLast);
      for (; j < n; j += kN) {
        if (hn::AllFalse(d, Lt(LoadU(d, keys + j), Set(d, last)))) continue;
        for (int64_t lane = j; lane < std::min(j + kN, n); ++lane) {
          if (keys[lane] >= last) continue;  // an equal one comes later, too
          kept[count++] = E::Make(keys[lane], i + lane);
          if (count == room) shrink();
        }
      }
      i += n;
    }
    if (count > k) shrink();
    std::sort(kept, kept + k);
    Give(kept, 1);
  }

  /// All entries in order.
  E* Sorted(Scratch& scratch, int64_t threads) const {
    E* from = scratch.Get<E>(n_);
    ForRanges(n_, threads, [&](int64_t begin, int64_t end) HWY_ATTR {
      Key keys[kPiece];
      for (int64_t i = begin; i < end; i += kPiece) {
        const int64_t n = std::min(kPiece, end - i);
        KeysOf(i, n, keys);
        for (int64_t j = 0; j < n; ++j) from[i + j] = E::Make(keys[j], i + j);
      }
    });
    if (n_ <= kShort) {
      std::sort(from, from + n_);
      return from;
    }
    return n_ < kLong ? RadixSorted<8>(from, scratch, threads) : RadixSorted<11>(from, scratch, threads);
  }

  /// From the lowest digit to the highest one: stable counting sorts, each thread with a chunk of the entries.
  template <int kDigit>
  E* RadixSorted(E* from, Scratch& scratch, int64_t threads) const {
    constexpr int64_t kBuckets = int64_t{1} << kDigit;
    E* to = scratch.Get<E>(n_);
    int64_t* const next = scratch.Get<int64_t>(threads * kBuckets);
    for (int shift = 0; shift < static_cast<int>(8 * sizeof(Bits)); shift += kDigit) {
      const auto digit = [shift](const E& e) HWY_ATTR {
        return static_cast<int64_t>(e.KeyOf() >> shift & static_cast<Key>(kBuckets - 1));
      };
      ForChunks(threads, [&](int64_t c, int64_t begin, int64_t end) HWY_ATTR {
        int64_t* const own = next + c * kBuckets;
        std::fill(own, own + kBuckets, int64_t{0});
        for (int64_t i = begin; i < end; ++i) ++own[digit(from[i])];
      });
      int64_t most = 0, at = 0;
      for (int64_t b = 0; b < kBuckets; ++b) {
        const int64_t start = at;
        for (int64_t c = 0; c < threads; ++c) {
          const int64_t count = next[c * kBuckets + b];
          next[c * kBuckets + b] = at;
          at += count;
        }
        most = std::max(most, at - start);
      }
      if (most == n_) continue;  // all have the same digit
      ForChunks(threads, [&](int64_t c, int64_t begin, int64_t end) HWY_ATTR {
        int64_t* const own = next + c * kBuckets;
        for (int64_t i = begin; i < end; ++i) to[own[digit(from[i])]++] = from[i];
      });
      std::swap(from, to);
    }
    return from;
  }

  template <class Body>
  void ForChunks(int64_t chunks, const Body& body) const {
    if (chunks == 1) return body(int64_t{0}, int64_t{0}, n_);
    ParallelFor(chunks, [&](int64_t c) HWY_ATTR { body(c, n_ * c / chunks, n_ * (c + 1) / chunks); });
  }

  /// One element by its rank.
  void Choose() const {
    Scratch scratch;
    Key* const keys = scratch.Get<Key>(n_);
    KeysOf(0, n_, keys);
    int64_t rank = args_.rank;
    if (args_.choice != Choice::kKth) {
      int64_t known = n_;
      if constexpr (Keys::kHasNan) {
        for (int64_t i = 0; i < n_; ++i) known -= keys[i] == Keys::kNan ? 1 : 0;
      }
      const bool all = args_.choice == Choice::kNanMedian ? known > 0 : known == n_;
      rank = all ? (known - 1) / 2 : n_ - 1;  // NaN is the last one in order
    }
    const Key chosen = KeyOfRank(keys, rank);
    for (int64_t i = 0; i < n_; i += kPiece) {
      const int64_t n = std::min(kPiece, n_ - i);
      KeysOf(i, n, keys);
      const int64_t at = std::find(keys, keys + n, chosen) - keys;
      if (at == n) continue;
      places_[0] = i + at;
      values_[0] = x_[i + at];
      return;
    }
  }

  /// The first element of the longest run of equals.
  void MostFrequent() const {
    Scratch scratch;
    const E* const entries = Sorted(scratch, 1);
    int64_t best = 0, longest = 0;
    for (int64_t i = 0; i < n_;) {
      int64_t end = i + 1;
      while (end < n_ && entries[end].KeyOf() == entries[i].KeyOf()) ++end;
      if (end - i > longest) best = i, longest = end - i;
      i = end;
    }
    places_[0] = entries[best].Place();
    values_[0] = x_[entries[best].Place()];
  }

  /// The key of a rank, by the digits from the highest one on: those with another digit are left out.
  Key KeyOfRank(Key* keys, int64_t rank) const {
    constexpr int kDigit = 11;
    constexpr int64_t kBuckets = int64_t{1} << kDigit;
    int64_t n = n_;
    for (int shift = static_cast<int>(8 * sizeof(Bits)) - kDigit; n > 4 * kShort && shift > -kDigit; shift -= kDigit) {
      const int by = std::max(shift, 0);
      const auto digit = [by](Key key)
                             HWY_ATTR { return static_cast<int64_t>(key >> by & static_cast<Key>(kBuckets - 1)); };
      uint32_t counts[kBuckets] = {};
      for (int64_t i = 0; i < n; ++i) ++counts[digit(keys[i])];
      int64_t bucket = 0;
      for (; rank >= counts[bucket]; ++bucket) rank -= counts[bucket];
      int64_t kept = 0;
      for (int64_t i = 0; i < n; ++i) {
        const Key key = keys[i];
        keys[kept] = key;
        kept += digit(key) == bucket ? 1 : 0;
      }
      n = kept;
    }
    std::nth_element(keys, keys + rank, keys + n);
    return keys[rank];
  }

  const SortArgs& args_;
  const int64_t n_;
  const Key flip_;
  const Bits* x_;
  Bits* values_;
  int64_t* places_;
};

}  // namespace

void SortKernel(const SortArgs& args) {
  DispatchKeys(args.dtype, [&]<class Keys>() HWY_ATTR {
    const int64_t threads = GetNumThreads();
    if (args.rows < threads && args.n >= Grain(kLong) && args.choice == Choice::kFirst && args.k > args.n / 8) {
      for (int64_t r = 0; r < args.rows; ++r) Row<Keys>(args, r).Run(threads);
      return;
    }
    ParallelRanges(args.rows, kGrain / args.n + 1, [&](int64_t begin, int64_t end) HWY_ATTR {
      for (int64_t r = begin; r < end; ++r) Row<Keys>(args, r).Run(1);
    });
  });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

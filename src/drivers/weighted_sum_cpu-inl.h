// SPDX-License-Identifier: MIT
// Ordered sums of a few weighted numbers, given by tables.
#pragma once

#include "base/arena.h"
#include "drivers/vector_cpu-inl.h"
#include "drivers/weighted_sum.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

/// out[i] = start + weights[0] * row_at(0)[i] + weights[1] * row_at(1)[i] + …, from left to right; +0 without terms.
template <class T, class RowAt>
HWY_INLINE void SumWeightedRows(const RowAt& row_at, const T* weights, int64_t terms, T start, int64_t n, T* out) {
  const TagOf<T> d;
  constexpr int64_t kN = kLanesOf<T>;
  if (terms == 0) start = 0;
  int64_t i = 0;
  for (; i + 4 * kN <= n; i += 4 * kN) {
    VecOf<T> s0 = Set(d, start), s1 = s0, s2 = s0, s3 = s0;
    for (int64_t t = 0; t < terms; ++t) {
      const T* const x = row_at(t) + i;
      const VecOf<T> w = Set(d, weights[t]);
      s0 = Add(s0, Mul(LoadU(d, x), w));
      s1 = Add(s1, Mul(LoadU(d, x + kN), w));
      s2 = Add(s2, Mul(LoadU(d, x + 2 * kN), w));
      s3 = Add(s3, Mul(LoadU(d, x + 3 * kN), w));
    }
    StoreU(s0, d, out + i), StoreU(s1, d, out + i + kN), StoreU(s2, d, out + i + 2 * kN),
        StoreU(s3, d, out + i + 3 * kN);
  }
  for (; i < n; i += kN) {
    const int64_t count = std::min(n - i, kN);
    VecOf<T> sum = Set(d, start);
    for (int64_t t = 0; t < terms; ++t) sum = Add(sum, Mul(LoadN(row_at(t) + i, count), Set(d, weights[t])));
    StoreN<T>(sum, out + i, count);
  }
}

/// The sums of an axis whose numbers have `inner` neighbours each that are summed alike: from (size, inner) to
/// (count, inner). Where there are fewer than lanes, the lanes are sums, and their terms are gathered.
template <class T>
class SumsAlong {
 public:
  SumsAlong(const WeightedSums<T>& sums, int64_t inner, Scratch& scratch) : sums_(sums), inner_(inner) {
    if (!sums || inner >= kN) return;
    blocks_ = scratch.Get<Block>((sums.count * inner + kN - 1) / kN);
    int64_t entries = 0;
    for (int64_t b = 0; b * kN < sums.count * inner; ++b) {
      Block& block = blocks_[b];
      block = {entries, Terms(b * kN), 0};
      for (int64_t lane = 0; lane < Lanes(b); ++lane) {
        block.full = std::min(block.full, Terms(b * kN + lane));
        block.terms = std::max(block.terms, Terms(b * kN + lane));
      }
      entries += block.terms + 1;
    }
    indices_ = scratch.Get<Index>(entries * kN);
    weights_ = scratch.Get<T>(entries * kN);
    for (int64_t b = 0; b * kN < sums.count * inner; ++b) {
      const Block& block = blocks_[b];
      for (int64_t lane = 0; lane < kN; ++lane) {
        // Lanes behind the last sum repeat it.
        const int64_t column = std::min(b * kN + lane, sums.count * inner - 1), terms = Terms(column);
        Index* const indices = indices_ + block.first * kN + lane;
        T* const weights = weights_ + block.first * kN + lane;
        for (int64_t k = 0; k < block.terms; ++k) {
          const int64_t t = sums.starts[column / inner] + k;
          indices[k * kN] = k < terms ? static_cast<Index>(sums.indices[t] * inner + column % inner) : 0;
          weights[k * kN] = k < terms ? sums.weights[t] : T{0};
        }
        indices[block.terms * kN] = static_cast<Index>(terms);
        weights[block.terms * kN] = terms == 0 ? T{0} : sums.start;
      }
    }
  }

  HWY_INLINE void operator()(const T* x, T* out) const {
    if (inner_ < kN) return Gathered([x](int64_t) { return x; }, 1, out);
    for (int64_t j = 0; j < sums_.count; ++j) {
      const int64_t first = sums_.starts[j];
      SumWeightedRows([&](int64_t t) { return x + sums_.indices[first + t] * inner_; }, sums_.weights + first,
                      sums_.starts[j + 1] - first, sums_.start, inner_, out + j * inner_);
    }
  }

  /// The sums of windows: of the numbers that row_at(0) has for a sum, then of those that row_at(1) has, ….
  template <class RowAt>
  HWY_INLINE void SumWindows(const RowAt& row_at, int64_t rows, T* out) const {
    if (inner_ < kN) return Gathered(row_at, rows, out);
    const TagOf<T> d;
    for (int64_t j = 0; j < sums_.count; ++j) {
      ForVectors<T>(inner_, [&](int64_t i, int64_t count) HWY_ATTR {
        VecOf<T> sum = Set(d, sums_.start);
        for (int64_t r = 0; r < rows; ++r) {
          const T* const x = row_at(r) + i;
          for (int64_t t = sums_.starts[j]; t < sums_.starts[j + 1]; ++t) {
            sum = Add(sum, Mul(LoadN(x + sums_.indices[t] * inner_, count), Set(d, sums_.weights[t])));
          }
        }
        StoreN<T>(sum, out + j * inner_ + i, count);
      });
    }
  }

 private:
  static constexpr int64_t kN = kLanesOf<T>;
  using Index = hn::TFromD<IntTag<TagOf<T>>>;

  /// A vector of sums: of each term indices and weights, then the numbers of terms and what the sums start with.
  struct Block {
    int64_t first;  // vector of the table
    int64_t full;   // terms that all the sums have
    int64_t terms;  // of the longest sum
  };

  int64_t Terms(int64_t column) const { return sums_.starts[column / inner_ + 1] - sums_.starts[column / inner_]; }
  int64_t Lanes(int64_t b) const { return std::min(kN, sums_.count * inner_ - b * kN); }

  template <class RowAt>
  HWY_INLINE void Gathered(const RowAt& row_at, int64_t rows, T* out) const {
    const TagOf<T> d;
    const IntTag<TagOf<T>> di;
    for (int64_t b = 0; b * kN < sums_.count * inner_; ++b) {
      const Block& block = blocks_[b];
      const Index* const indices = indices_ + block.first * kN;
      const T* const weights = weights_ + block.first * kN;
      const auto terms = LoadU(di, indices + block.terms * kN);
      VecOf<T> sum = LoadU(d, weights + block.terms * kN);
      for (int64_t r = 0; r < rows; ++r) {
        const T* const x = row_at(r);
        const auto product = [&](int64_t k) HWY_ATTR {
          return Mul(hn::GatherIndex(d, x, LoadU(di, indices + k * kN)), LoadU(d, weights + k * kN));
        };
        int64_t k = 0;
        for (; k < block.full; ++k) sum = Add(sum, product(k));
        for (; k < block.terms; ++k) {
          const auto present = Gt(terms, Set(di, static_cast<Index>(k)));
          sum = IfThenElse(MaskTo(d, present), Add(sum, product(k)), sum);
        }
      }
      StoreN<T>(sum, out + b * kN, Lanes(b));
    }
  }

  const WeightedSums<T>& sums_;
  int64_t inner_;
  Block* blocks_ = nullptr;
  Index* indices_ = nullptr;
  T* weights_ = nullptr;
};

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

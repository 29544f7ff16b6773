// SPDX-License-Identifier: MIT
#include "drivers/reduce_cpu-inl.h"
#include "drivers/row_cpu-inl.h"
#include "ops/layer_norm/layer_norm_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

#include "ops/layer_norm/layer_norm.row.h"

namespace {

/// 1 / N: the quotient in double, rounded once.
template <class T>
T Reciprocal(const LayerNormArgs<T>& args) {
  return static_cast<T>(1.0 / static_cast<double>(args.n));
}

/// A number for as many places of a row one after the other.
template <class T>
class NumbersOfChannels {
 public:
  NumbersOfChannels(const T* data, int64_t places) : first_(data), places_(places), at_(data), end_(places) {}

  HWY_INLINE VecOf<T> operator()(Places at) const {
    const int64_t count = std::min(at.count, kLanesOf<T>);  // a sum counts all that is left
    if (HWY_LIKELY(at.first >= end_ - places_ && at.first + count <= end_)) return Set(TagOf<T>(), *at_);
    return Find(at.first, count);
  }

 private:
  /// The same where a channel is left, for the next one as a rule; a walk over the row may begin again.
  HWY_INLINE VecOf<T> Find(int64_t first, int64_t count) const {
    const TagOf<T> d;
    if (first < end_ - places_) {
      at_ = first_;
      end_ = places_;
    }
    while (first >= end_) Next();
    const int64_t left = end_ - first;
    const auto here = Set(d, *at_);
    if (left >= count) return here;
    Next();
    if (left + places_ >= count) return IfThenElse(hn::FirstN(d, static_cast<size_t>(left)), here, Set(d, *at_));
    HWY_ALIGN T lanes[kLanesOf<T>] = {};
    Store(here, d, lanes);
    for (int64_t lane = left; lane < count; ++lane) {
      if (first + lane == end_) Next();
      lanes[lane] = *at_;
    }
    return Load(d, lanes);
  }
  HWY_INLINE void Next() const {
    ++at_;
    end_ += places_;
  }

  const T* first_;
  int64_t places_;
  mutable const T* at_;  // the channel whose places end at `end_`
  mutable int64_t end_;
};

template <class T>
T* OrNull(T* p, int64_t offset) {
  return p == nullptr ? nullptr : p + offset;
}

/// body(weight, bias) with what row `index` has of them.
template <class T, class Body>
HWY_INLINE void WithAffine(const LayerNormArgs<T>& args, int64_t index, const Body& body) {
  const int64_t at = index % args.affine_rows * (args.n / args.places);
  if (args.places == 1) {
    body(RowNumbers<const T>{args.weight + at}, RowNumbers<const T>{OrNull(args.bias, at)});
  } else {
    body(NumbersOfChannels<T>(args.weight + at, args.places), NumbersOfChannels<T>(OrNull(args.bias, at), args.places));
  }
}

template <class T>
void NormalizeRow(const LayerNormArgs<T>& args, int64_t index) {
  const int64_t at = index * args.n;
  WithAffine(args, index, [&](const auto& weight, const auto& bias) HWY_ATTR {
    const auto [mean, rstd] =
        LayerNormRow(Row<T>{args.n, args.order}, args.mean != nullptr, Reciprocal(args), args.eps,
                     RowNumbers<const T>{args.input + at}, weight, bias, RowNumbers<T>{args.output + at});
    if (args.mean != nullptr) args.mean[index] = mean;
    args.rstd[index] = rstd;
  });
}

/// A row of what grad_weight is the sum of.
template <class T>
struct GradRow {
  const T *g, *x;
  T mean, rstd;

  GradRow(const LayerNormArgs<T>& args, int64_t row)
      : g(args.grad_output + row * args.n),
        x(args.input + row * args.n),
        mean(args.mean == nullptr ? T{0} : args.mean[row]),
        rstd(args.rstd[row]) {}

  HWY_INLINE VecOf<T> operator()(int64_t i, int64_t count) const {
    const TagOf<T> d;
    return LayerNormWeightTerm(LoadN(g + i, count), LoadN(x + i, count), Set(d, mean), Set(d, rstd));
  }
};

template <class T>
void FillGradInput(const LayerNormArgs<T>& args, int64_t index) {
  using Numbers = RowNumbers<const T>;
  const int64_t at = index * args.n;
  const RowMoments<T> moments{args.mean == nullptr ? T{0} : args.mean[index], args.rstd[index]};
  WithAffine(args, index, [&](const auto& weight, const auto&) HWY_ATTR {
    LayerNormGradRow(Row<T>{args.n, args.order}, args.mean != nullptr, Reciprocal(args), moments,
                     Numbers{args.grad_output + at}, Numbers{args.input + at}, weight,
                     RowNumbers<T>{args.grad_input + at});
  });
}

template <class T>
void FillGradInputs(const LayerNormArgs<T>& args) {
  ParallelRanges(args.rows, 4096 / args.n + 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t row = begin; row < end; ++row) FillGradInput(args, row);
  });
}

/// sums[i] += term i of grad_weight, for columns begin + i < end; of grad_bias likewise, unless bias_sums is null.
template <class T>
void AddRow(const GradRow<T>& row, int64_t begin, int64_t end, T* weight_sums, T* bias_sums) {
  ForVectors<T>(end - begin, [&](int64_t i, int64_t count) HWY_ATTR {
    StoreN(Add(LoadN(weight_sums + i, count), row(begin + i, count)), weight_sums + i, count);
    if (bias_sums == nullptr) return;
    StoreN(Add(LoadN(bias_sums + i, count), LoadN(row.g + begin + i, count)), bias_sums + i, count);
  });
}

/// Calls body(begin, end) for strips of the columns, on the threads.
template <class T, class Body>
void ForStrips(const LayerNormArgs<T>& args, int64_t num_terms, const Body& body) {
  constexpr int64_t kStrip = 64;
  const int64_t strips = (args.n + kStrip - 1) / kStrip;
  ParallelRanges(strips, 16384 / (num_terms * kStrip) + 1, [&](int64_t first, int64_t last) HWY_ATTR {
    const int64_t end = std::min(last * kStrip, args.n);
    for (int64_t j = first * kStrip; j < end; j += kMaxStrip) body(j, std::min(j + kMaxStrip, end));
  });
}

/// For rows that the caches hold. A thread does groups of lanes whole and hands on a sum of each for each chunk: what lies in
/// the caches of one core is dear to another.
template <class T>
void GradOfFewRows(const LayerNormArgs<T>& args) {
  const int64_t n = args.n, width = (n + kLanesOf<T> - 1) / kLanesOf<T> * kLanesOf<T>;
  const Chunks chunks(args.rows, kSumChunk);
  const int64_t groups = std::min(args.rows, kGroups);
  Scratch scratch;
  T* const weight_sums = scratch.Get<T>(chunks.count * groups * width);
  T* const bias_sums = args.grad_bias == nullptr ? nullptr : scratch.Get<T>(chunks.count * groups * width);
  ParallelRanges(groups, 4096 * groups / (args.rows * n) + 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t chunk = 0; chunk < chunks.count; ++chunk) {
      const int64_t first = chunks.Begin(chunk), num_rows = chunks.End(chunk) - first;
      for (int64_t i = 0; i < num_rows; i += kGroups) {
        for (int64_t row = i + begin; row < std::min(i + end, num_rows); ++row) FillGradInput(args, first + row);
      }
      for (int64_t group = begin; group < std::min(end, num_rows); ++group) {
        const int64_t at = (chunk * groups + group) * width;
        const auto term_at = [&](int64_t i) HWY_ATTR { return GradRow<T>(args, first + i); };
        SumGroup(group, num_rows, n, term_at, weight_sums + at);
        if (bias_sums == nullptr) continue;
        const auto grad_at = [&](int64_t i) HWY_ATTR { return StoredRow<T>{args.grad_output + (first + i) * n}; };
        SumGroup(group, num_rows, n, grad_at, bias_sums + at);
      }
    }
  });
  ForStrips(args, groups * chunks.count, [&](int64_t begin, int64_t end) HWY_ATTR {
    const auto join = [&](const T* sums, T* out) HWY_ATTR {
      const auto join_chunk = [&](int64_t from, int64_t to, int64_t cols, T* sum) HWY_ATTR {
        JoinGroups(to - from, cols, sums + from / kSumChunk * groups * width + begin, width, sum);
      };
      SumChunksOfColumns(args.rows, end - begin, kSumChunk, /*room=*/1, join_chunk, out + begin);
    };
    join(weight_sums, args.grad_weight);
    if (bias_sums != nullptr) join(bias_sums, args.grad_bias);
  });
}

/// For many rows: each is read from memory once. Its terms are added to the lanes of its chunk, which are folded then.
template <class T>
void GradOfManyRows(const LayerNormArgs<T>& args) {
  const int64_t n = args.n, whole_chunks = args.rows / kSumChunk;
  const int64_t num_lanes = whole_chunks * kSumLanes + std::min(args.rows % kSumChunk, kSumLanes);
  Scratch scratch;
  T* const weight_sums = scratch.Get<T>(num_lanes * n);
  T* const bias_sums = args.grad_bias == nullptr ? nullptr : scratch.Get<T>(num_lanes * n);
  // Neighbouring lanes are done together, as many as stay in the L2 cache: their rows are neighbours.
  const int64_t group = std::clamp(65536 / n, int64_t{1}, kSumLanes);
  ParallelRanges(num_lanes, 1024 / n + 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t first = begin, next; first < end; first = next) {
      const int64_t chunk = first / kSumLanes, end_of_chunk = std::min(args.rows, (chunk + 1) * kSumChunk);
      next = std::min({end, first + group, (chunk + 1) * kSumLanes});
      std::fill(weight_sums + first * n, weight_sums + next * n, T{0});
      if (bias_sums != nullptr) std::fill(bias_sums + first * n, bias_sums + next * n, T{0});
      const int64_t shift = chunk * (kSumChunk - kSumLanes);  // from a lane to its first row
      for (int64_t of_first = first + shift; of_first < end_of_chunk; of_first += kSumLanes) {
        const int64_t last = std::min(of_first + next - first, end_of_chunk);
        for (int64_t row = of_first, at = first * n; row < last; ++row, at += n) {
          FillGradInput(args, row);
          AddRow(GradRow<T>(args, row), 0, n, weight_sums + at, OrNull(bias_sums, at));
        }
      }
    }
  });
  ForStrips(args, num_lanes, [&](int64_t begin, int64_t end) HWY_ATTR {
    const auto fold = [&](const T* sums, T* out) HWY_ATTR {
      const auto lane_at = [&](int64_t lane) HWY_ATTR { return StoredRow<T>{sums + lane * n + begin}; };
      SumColumnsOf<T>(num_lanes, end - begin, lane_at, out + begin, kSumLanes);
    };
    fold(weight_sums, args.grad_weight);
    if (bias_sums != nullptr) fold(bias_sums, args.grad_bias);
  });
}

template <class T>
void SumRowsOneByOne(const LayerNormArgs<T>& args) {
  ForStrips(args, args.rows, [&](int64_t begin, int64_t end) HWY_ATTR {
    T* const weight = args.grad_weight + begin;
    T* const bias = OrNull(args.grad_bias, begin);
    std::fill_n(weight, end - begin, T{0});
    if (bias != nullptr) std::fill_n(bias, end - begin, T{0});
    for (int64_t row = 0; row < args.rows; ++row) AddRow(GradRow<T>(args, row), begin, end, weight, bias);
  });
}

template <class T>
void Normalize(const LayerNormArgs<T>& args) {
  ParallelRanges(args.rows, 8192 / args.n + 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t row = begin; row < end; ++row) NormalizeRow(args, row);
  });
}

template <class T>
void FillGrads(const LayerNormArgs<T>& args) {
  if (args.grad_weight == nullptr) return FillGradInputs(args);
  if (args.order == Order::kBlocked) {
    constexpr int64_t kCachedBytes = int64_t{1} << 21;
    const bool is_cached = args.rows * args.n * 2 * static_cast<int64_t>(sizeof(T)) < kCachedBytes;
    const bool are_few = args.rows < 4 * kSumLanes || (is_cached && GetNumThreads() > 1);
    return are_few ? GradOfFewRows(args) : GradOfManyRows(args);
  }
  FillGradInputs(args);
  SumRowsOneByOne(args);
}

}  // namespace

void LayerNormKernel(const LayerNormArgs<float>& args) { Normalize(args); }
void LayerNormKernel(const LayerNormArgs<double>& args) { Normalize(args); }
void LayerNormGradKernel(const LayerNormArgs<float>& args) { FillGrads(args); }
void LayerNormGradKernel(const LayerNormArgs<double>& args) { FillGrads(args); }

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

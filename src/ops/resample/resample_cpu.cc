// SPDX-License-Identifier: MIT
#include <bit>

#include "base/parallel.h"
#include "drivers/weighted_sum_cpu-inl.h"
#include "ops/resample/resample_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

/// Products that are worth a fork.
constexpr int64_t kGrain = 32768;

template <class T>
class Resampling {
 public:
  Resampling(const ResampleArgs<T>& args, Scratch& scratch)
      : args_(args),
        along_columns_(args.columns, args.inner, scratch),
        in_length_(args.in_columns * args.inner),
        out_length_(args.out_columns * args.inner) {
    if (!args.rows) return;
    for (int64_t r = 0; r < args.out_rows; ++r) {
      const int64_t begin = args.rows.starts[r], end = args.rows.starts[r + 1];
      if (begin == end) continue;
      const auto [low, high] = std::minmax_element(args.rows.indices + begin, args.rows.indices + end);
      reach_ = std::max<int64_t>(reach_, *high - *low + 1);
    }
    reach_ = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(reach_)));
  }

  void Run() const {
    const auto terms = [](const WeightedSums<T>& sums) {
      return sums ? sums.starts[sums.count] / std::max<int64_t>(sums.count, 1) + 1 : 1;
    };
    const int64_t products = out_length_ * (terms(args_.rows) + terms(args_.columns));
    ParallelRanges(args_.planes * args_.out_rows, kGrain / std::max<int64_t>(products, 1) + 1,
                   [&](int64_t begin, int64_t end) HWY_ATTR { MakeRows(begin, end); });
  }

 private:
  HWY_INLINE const T* Input(int64_t plane, int64_t row) const {
    return args_.input + (plane * args_.in_rows + row) * in_length_;
  }
  HWY_INLINE T* Output(int64_t row) const { return args_.output + row * out_length_; }

  /// Rows of the output, counted through all planes.
  void MakeRows(int64_t begin, int64_t end) const {
    if (!args_.rows) {
      for (int64_t i = begin; i < end; ++i) along_columns_(Input(0, i), Output(i));
    } else if (!args_.columns) {
      for (int64_t i = begin; i < end; ++i) SumRows(i, Output(i));
    } else if (args_.rows_first) {
      Scratch scratch;
      T* const row = scratch.Get<T>(in_length_);
      for (int64_t i = begin; i < end; ++i) {
        SumRows(i, row);
        along_columns_(row, Output(i));
      }
    } else {
      MakeRowsOfSummedColumns(begin, end);
    }
  }

  /// Sums of rows of the input.
  HWY_INLINE void SumRows(int64_t i, T* out) const {
    const int64_t row = i % args_.out_rows, first = args_.rows.starts[row];
    const T* const plane = Input(i / args_.out_rows, 0);
    const int32_t* const indices = args_.rows.indices + first;
    SumWeightedRows([&](int64_t t) { return plane + indices[t] * in_length_; }, args_.rows.weights + first,
                    args_.rows.starts[row + 1] - first, args_.rows.start, in_length_, out);
  }

  /// Rows are summed along their columns first. The last of these stay where the next rows find them.
  void MakeRowsOfSummedColumns(int64_t begin, int64_t end) const {
    Scratch scratch;
    T* const ready = scratch.Get<T>(reach_ * out_length_);
    int64_t* const held = scratch.Get<int64_t>(reach_);
    std::fill_n(held, reach_, int64_t{-1});
    const int64_t mask = reach_ - 1;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = i % args_.out_rows, plane = i / args_.out_rows, first = args_.rows.starts[row];
      const int64_t terms = args_.rows.starts[row + 1] - first;
      const int32_t* const indices = args_.rows.indices + first;
      for (int64_t t = 0; t < terms; ++t) {
        const int64_t from = plane * args_.in_rows + indices[t], slot = indices[t] & mask;
        if (held[slot] == from) continue;
        along_columns_(Input(0, from), ready + slot * out_length_);
        held[slot] = from;
      }
      SumWeightedRows([&](int64_t t) { return ready + (indices[t] & mask) * out_length_; }, args_.rows.weights + first,
                      terms, args_.rows.start, out_length_, Output(i));
    }
  }

  const ResampleArgs<T>& args_;
  SumsAlong<T> along_columns_;
  int64_t in_length_, out_length_;
  int64_t reach_ = 1;  // rows that a sum of rows needs at a time, at most; a power of two
};

}  // namespace

void ResampleKernel(const ResampleArgs<float>& args) {
  Scratch scratch;
  Resampling<float>(args, scratch).Run();
}
void ResampleKernel(const ResampleArgs<double>& args) {
  Scratch scratch;
  Resampling<double>(args, scratch).Run();
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

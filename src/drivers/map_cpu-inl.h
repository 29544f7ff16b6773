// SPDX-License-Identifier: MIT
// Elementwise ops: f(x...) of a vector at a time.
#pragma once

#include <utility>

#include "base/parallel.h"
#include "drivers/map.h"
#include "drivers/narrow_cpu-inl.h"
#include "drivers/vector_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

/// y[i] = f(x[0][i], ...) for i < n, all side by side in memory; y[0] is for element `at` of the output.
template <class T>
using MapRun = void (*)(const void* f, const T* const* x, T* y, int64_t at, int64_t n);

/// What the operands of a run go through where they are not such numbers side by side.
constexpr int64_t kMapRun = 512;

template <class T>
HWY_INLINE void Fill(T number, int64_t n, T* to) {
  const VecOf<T> numbers = Set(TagOf<T>(), number);
  ForVectors<T>(n, [&](int64_t i, int64_t count) HWY_ATTR { StoreN(numbers, to + i, count); });
}

/// Rows up to which it is worth while to put some side by side for a run.
constexpr int64_t kShortRow = 64;

/// An operand whose rows are short: some of them side by side.
template <class T>
class ShortRows {
 public:
  void Begin(const MapArgs& args, int input, int64_t first_row) {
    args_ = &args, input_ = input, line_ = args.rank - 2, n_ = args.shape[args.rank - 1];
    stride_ = Stride(args.rank - 1);
    bool is_direct = stride_ == 1, is_same = true;
    int64_t size = n_, rest = first_row;
    for (int dim = line_; dim >= 0; --dim) {
      is_direct = is_direct && Stride(dim) == size;
      is_same = is_same && Stride(dim) == 0;
      size *= args.shape[dim];
      index_[dim] = rest % args.shape[dim];
      rest /= args.shape[dim];
      offset_ += index_[dim] * Stride(dim);
    }
    way_ = is_direct ? Way::kDirect : is_same ? Way::kSame : stride_ == 0 ? Way::kRepeat : Way::kCopy;
    if (!is_same) return;
    T memory[kShortRow];
    const T* const row = NumbersSideBySide(Data(), DType(), 0, stride_, n_, memory);
    for (int64_t i = 0; i < kMapRun; ++i) buffer_[i] = i < n_ ? row[i] : buffer_[i - n_];
  }

  /// The numbers of `count` rows, which begin with `row`; the rows before have been taken.
  HWY_INLINE const T* Take(int64_t row, int64_t count) {
    switch (way_) {
      case Way::kDirect: return NumbersSideBySide(Data(), DType(), row * n_, 1, count * n_, buffer_);
      case Way::kSame: return buffer_;
      case Way::kRepeat: Repeat(count); return buffer_;
      case Way::kCopy: Copy(count); return buffer_;
    }
    return nullptr;
  }

 private:
  enum class Way { kDirect, kSame, kRepeat, kCopy };

  int64_t Stride(int dim) const { return args_->strides[input_][dim]; }
  const void* Data() const { return args_->inputs[input_]; }
  repdl::DType DType() const { return args_->input_dtypes[input_]; }

  /// Where the next row begins.
  HWY_INLINE int64_t Next() {
    const int64_t here = offset_;
    for (int dim = line_; dim >= 0; --dim) {
      offset_ += Stride(dim);
      if (HWY_LIKELY(++index_[dim] < args_->shape[dim])) break;
      offset_ -= Stride(dim) * args_->shape[dim];
      index_[dim] = 0;
    }
    return here;
  }

  /// Whole vectors are stored: a row overwrites what the one before has put behind its end.
  void Repeat(int64_t count) {
    T numbers[kMapRun];
    if (DType() == kDTypeOf<T>) {
      const T* const from = static_cast<const T*>(Data());
      for (int64_t i = 0; i < count; ++i) numbers[i] = from[Next()];
    } else {
      const auto* const from = static_cast<const uint16_t*>(Data());
      for (int64_t i = 0; i < count; ++i) halves_[i] = from[Next()];
      WidenAll(count, numbers);
    }
    for (int64_t i = 0; i < count; ++i) {
      const VecOf<T> number = Set(TagOf<T>(), numbers[i]);
      for (int64_t j = 0; j < n_; j += kLanesOf<T>) StoreU(number, TagOf<T>(), buffer_ + i * n_ + j);
    }
  }

  void Copy(int64_t count) {
    if (DType() == kDTypeOf<T>) {
      const T* const from = static_cast<const T*>(Data());
      if (stride_ != 1) return CopyEach(from, count, buffer_);
      for (int64_t i = 0; i < count; ++i) {
        const T* const row = from + Next();
        T* const to = buffer_ + i * n_;
        ForVectors<T>(n_, [&](int64_t j, int64_t left) HWY_ATTR { StoreU(LoadN(row + j, left), TagOf<T>(), to + j); });
      }
    } else {
      CopyEach(static_cast<const uint16_t*>(Data()), count, halves_);
      WidenAll(count * n_, buffer_);
    }
  }

  template <class Stored>
  HWY_INLINE void CopyEach(const Stored* from, int64_t count, Stored* to) {
    for (int64_t i = 0; i < count; ++i) {
      const Stored* const row = from + Next();
      for (int64_t j = 0; j < n_; ++j) *to++ = row[j * stride_];
    }
  }

  HWY_INLINE void WidenAll(int64_t count, T* to) const {
    if constexpr (std::is_same_v<T, float>) WidenTo(DType(), halves_, to, count);
  }

  const MapArgs* args_;
  int input_, line_;
  int64_t n_, stride_, offset_ = 0, index_[kMaxRank];
  Way way_;
  T buffer_[kMapRun + kLanesOf<T>];
  uint16_t halves_[kMapRun];
};

/// output = run(inputs...), in parallel, of short rows. `grain` is the number of elements worth a fork. A low-precision
/// output is rounded from what `run` gives.
template <class T>
HWY_NOINLINE void MapShortRows(const MapArgs& args, int64_t grain, MapRun<T> run, const void* f) {
  const int64_t n = args.shape[args.rank - 1], together = kMapRun / n;
  ParallelRanges(args.numel / n, grain / n + 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    ShortRows<T> operands[MapArgs::kMaxInputs];
    for (int t = 0; t < args.num_inputs; ++t) operands[t].Begin(args, t, begin);
    T rounded[kMapRun];
    for (int64_t row = begin; row < end; row += together) {
      const int64_t count = std::min(together, end - row);
      const T* x[MapArgs::kMaxInputs] = {};
      for (int t = 0; t < args.num_inputs; ++t) x[t] = operands[t].Take(row, count);
      if (args.output_dtype == kDTypeOf<T>) {
        run(f, x, static_cast<T*>(args.output) + row * n, row * n, count * n);
      } else if constexpr (std::is_same_v<T, float>) {
        run(f, x, rounded, row * n, count * n);
        NarrowTo(args.output_dtype, rounded, static_cast<uint16_t*>(args.output) + row * n, count * n);
      }
    }
  });
}

/// The same of runs that each lie in a row.
template <class T>
HWY_NOINLINE void MapRowRuns(const MapArgs& args, int64_t grain, MapRun<T> run, const void* f) {
  const int inner = args.rank - 1;
  bool direct = args.output_dtype == kDTypeOf<T>;
  for (int t = 0; t < args.num_inputs; ++t) {
    direct = direct && args.input_dtypes[t] == kDTypeOf<T> && args.strides[t][inner] == 1;
  }
  ParallelRanges(args.numel, grain, [&](int64_t begin, int64_t end) HWY_ATTR {
    HWY_ALIGN T buffers[MapArgs::kMaxInputs + 1][kMapRun];
    // Where in the shape the row of element `at` is, and an offset into every operand.
    int64_t index[kMaxRank], row_offsets[MapArgs::kMaxInputs] = {};
    int64_t rest = begin;
    for (int dim = inner; dim >= 0; --dim) {
      index[dim] = rest % args.shape[dim];
      rest /= args.shape[dim];
      for (int t = 0; dim < inner && t < args.num_inputs; ++t) row_offsets[t] += index[dim] * args.strides[t][dim];
    }
    int64_t column = index[inner];
    for (int64_t at = begin; at < end;) {
      const int64_t row_end = std::min(end, at + args.shape[inner] - column);
      const int64_t longest = direct ? row_end - at : kMapRun;
      int64_t offsets[MapArgs::kMaxInputs];
      for (int t = 0; t < args.num_inputs; ++t) offsets[t] = row_offsets[t] + column * args.strides[t][inner];
      const T* x[MapArgs::kMaxInputs] = {};
      for (; at < row_end; at += longest) {
        const int64_t n = std::min(longest, row_end - at);
        for (int t = 0; t < args.num_inputs; ++t) {
          const int64_t stride = args.strides[t][inner];
          if (stride == 0 && x[t] != nullptr) continue;  // the number that repeats is in the buffer already
          if (stride == 0) {
            T number[1];
            const T* const from = NumbersSideBySide(args.inputs[t], args.input_dtypes[t], offsets[t], 1, 1, number);
            Fill(*from, n, buffers[t]);
            x[t] = buffers[t];
            continue;
          }
          x[t] = NumbersSideBySide(args.inputs[t], args.input_dtypes[t], offsets[t], stride, n, buffers[t]);
          offsets[t] += n * stride;
        }
        if (args.output_dtype == kDTypeOf<T>) {
          run(f, x, static_cast<T*>(args.output) + at, at, n);
        } else if constexpr (std::is_same_v<T, float>) {
          float* rounded = buffers[MapArgs::kMaxInputs];
          run(f, x, rounded, at, n);
          NarrowTo(args.output_dtype, rounded, static_cast<uint16_t*>(args.output) + at, n);
        }
      }
      at = row_end;
      column = 0;
      for (int dim = inner - 1; dim >= 0; --dim) {
        const bool is_last = ++index[dim] == args.shape[dim];
        const int64_t steps = is_last ? 1 - args.shape[dim] : 1;
        for (int t = 0; t < args.num_inputs; ++t) row_offsets[t] += steps * args.strides[t][dim];
        if (!is_last) break;
        index[dim] = 0;
      }
    }
  });
}

/// The same of any rows.
template <class T>
void MapRuns(const MapArgs& args, int64_t grain, MapRun<T> run, const void* f) {
  const bool short_rows = args.rank > 1 && args.numel > 0 && args.shape[args.rank - 1] <= kShortRow;
  short_rows ? MapShortRows(args, grain, run, f) : MapRowRuns(args, grain, run, f);
}

/// Runs for a function object: f(x, y, at, n).
template <class T, class F>
constexpr MapRun<T> RunOf() {
  return [](const void* context, const T* const* x, T* y, int64_t at, int64_t n)
             HWY_ATTR { (*static_cast<const F*>(context))(x, y, at, n); };
}

/// Such runs that each lie in a row.
template <class T, class F>
void MapEachRowRun(const MapArgs& args, int64_t grain, const F& f) {
  MapRowRuns<T>(args, grain, RunOf<T, F>(), &f);
}

/// output = f(inputs...), in parallel; f takes and gives vectors of T. Of an f of few steps, `kTogether` vectors are
/// computed before one is stored: behind a store, all that f refers to is read from memory again.
template <int kInputs, class T = float, int kTogether = 1, class F>
void Map(const MapArgs& args, int64_t grain, const F& f) {
  const auto run = [&f](const T* const* x, T* y, int64_t, int64_t n) HWY_ATTR {
    // Lanes behind the end compute f(1...): no slow subnormals, no traps.
    const auto of = [&]<size_t... t>(int64_t i, int64_t count, std::index_sequence<t...>)
                        HWY_ATTR { return f(LoadN(x[t] + i, count, 1)...); };
    constexpr std::make_index_sequence<kInputs> kEach;
    constexpr int64_t kLength = kLanesOf<T>;
    int64_t begin = 0;
    if constexpr (kTogether == 4) {
      for (; begin + 4 * kLength <= n; begin += 4 * kLength) {
        const VecOf<T> a = of(begin, kLength, kEach), b = of(begin + kLength, kLength, kEach);
        const VecOf<T> c = of(begin + 2 * kLength, kLength, kEach), d = of(begin + 3 * kLength, kLength, kEach);
        StoreN(a, y + begin, kLength), StoreN(b, y + begin + kLength, kLength);
        StoreN(c, y + begin + 2 * kLength, kLength), StoreN(d, y + begin + 3 * kLength, kLength);
      }
    }
    ForVectors<T>(n - begin, [&](int64_t i, int64_t count)
                                 HWY_ATTR { StoreN(of(begin + i, count, kEach), y + begin + i, count); });
  };
  MapRuns<T>(args, grain, RunOf<T, std::decay_t<decltype(run)>>(), &run);
}

/// output = f(tag, inputs...), for a text that has its numbers within.
template <int kInputs, class T, int kTogether = 1, class F>
void MapText(const MapArgs& args, int64_t grain, const F& f) {
  Map<kInputs, T, kTogether>(args, grain, [&f](auto... x) HWY_ATTR { return f(TagOf<T>(), x...); });
}

/// An operand that is one number, in a vector.
template <class T>
HWY_INLINE VecOf<T> OneNumber(const MapArgs& args, int input) {
  T buffer[1];
  return Set(TagOf<T>(), *NumbersSideBySide(args.inputs[input], args.input_dtypes[input], 0, 1, 1, buffer));
}

/// Map of two operands and an f of few steps. A second operand that is one number stays in a vector.
template <class T, class F>
void MapTwo(const MapArgs& args, int64_t grain, const F& f) {
  if (!IsOneNumber(args, 1)) return Map<2, T, 4>(args, grain, f);
  const VecOf<T> y = OneNumber<T>(args, 1);
  Map<1, T, 4>(Without(args, 1), grain, [&](VecOf<T> x) HWY_ATTR { return f(x, y); });
}

/// output = F()(tag, inputs...), of doubles.
template <int kInputs, class F>
void MapDouble(const MapArgs& args, int64_t grain) {
  Map<kInputs, double>(args, grain, [](auto... x) HWY_ATTR { return F()(TagOf<double>(), x...); });
}

/// y[i] = F()(tag, x[i]), computed in double; rounded to odd where a second rounding follows.
template <class F, bool kToOdd>
void MapWideRun(const void*, const float* const* x, float* y, int64_t, int64_t n) {
  const hn::ScalableTag<double> wide;
  const hn::Rebind<float, decltype(wide)> narrow;
  const auto apply = [&](auto v) HWY_ATTR {
    const auto result = F()(wide, ToDouble(wide, v));
    if constexpr (kToOdd) {
      return ToFloatOdd(narrow, result);
    } else {
      return ToFloat(narrow, result);
    }
  };
  constexpr int64_t kWideLanes = HWY_LANES(double);
  int64_t i = 0;
  for (; i + kWideLanes <= n; i += kWideLanes) StoreU(apply(LoadU(narrow, x[0] + i)), narrow, y + i);
  if (i == n) return;
  HWY_ALIGN float tail[kWideLanes];
  std::fill_n(tail, kWideLanes, 1.0f);
  std::copy(x[0] + i, x[0] + n, tail);
  Store(apply(Load(narrow, tail)), narrow, tail);
  std::copy(tail, tail + (n - i), y + i);
}

/// output = F()(tag, input), computed in double and rounded once to the type of the output.
template <class F>
void MapWide(const MapArgs& args, int64_t grain) {
  const bool to_odd = args.output_dtype != DType::kFloat32;
  MapRuns<float>(args, grain, to_odd ? &MapWideRun<F, true> : &MapWideRun<F, false>, nullptr);
}

/// y[i] = F()(tag, x[0][i], x[1][i]), computed in double, for an F of few steps: then the conversions count, which are
/// fastest out of memory and to no more than 256 bits.
template <class F>
void MapWide2Run(const void*, const float* const* x, float* y, int64_t, int64_t n) {
  constexpr int64_t kWideLanes = std::min<int64_t>(HWY_LANES(double), 4);
  const hn::CappedTag<double, kWideLanes> wide;
  const hn::Rebind<float, decltype(wide)> narrow;
  const auto apply = [&](const float* a, const float* b, float* to) HWY_ATTR {
    const auto result = F()(wide, ToDouble(wide, LoadU(narrow, a)), ToDouble(wide, LoadU(narrow, b)));
    StoreU(ToFloat(narrow, result), narrow, to);
  };
  const float* const a = x[0];
  const float* const b = x[1];
  int64_t i = 0;
  for (; i + kWideLanes <= n; i += kWideLanes) apply(a + i, b + i, y + i);
  if (i == n) return;
  float tail[3][kWideLanes] = {};
  std::copy(a + i, a + n, tail[0]);
  std::copy(b + i, b + n, tail[1]);
  apply(tail[0], tail[1], tail[2]);
  std::copy_n(tail[2], n - i, y + i);
}

/// output = F()(tag, inputs...), computed in double and rounded to float32, then to the type of the output.
template <class F>
void MapWide2(const MapArgs& args, int64_t grain) {
  MapRuns<float>(args, grain, &MapWide2Run<F>, nullptr);
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

// SPDX-License-Identifier: MIT
#include <algorithm>
#include <limits>

#include "base/arena.h"
#include "base/parallel.h"
#include "drivers/vector_cpu-inl.h"
#include "ops/histogram/histogram_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

/// Elements that are worth a fork.
constexpr int64_t kGrain = Grain(8192);

/// Finds the bin of an element. Where edges ascend in equal steps, a guess is nearly always right.
template <class T>
class Bins {
 public:
  explicit Bins(const HistogramArgs<T>& args)
      : edges_(args.edges), m_(args.num_edges), low_(edges_[0]), high_(edges_[m_ - 1]) {
    const T range = high_ - low_;
    scale_ = static_cast<T>(m_ - 1) / range;
    guesses_ = range > 0 && range <= std::numeric_limits<T>::max() && scale_ > 0 &&
               scale_ <= std::numeric_limits<T>::max() && m_ <= INT32_MAX;
    for (int64_t i = 1; i < m_; ++i) guesses_ = guesses_ && edges_[i - 1] <= edges_[i];
  }

  /// -1 for none.
  HWY_INLINE int64_t Of(T x) const {
    if (!(x >= low_ && x <= high_)) return -1;
    if (guesses_) {
      const T steps = (x - low_) * scale_;  // at most about m, as it is rounded three times
      const int64_t guess = std::min(static_cast<int64_t>(steps), m_ - 2);
      if (edges_[guess] <= x && x < edges_[guess + 1]) return guess;
      const int64_t other = x < edges_[guess] ? guess - 1 : guess + 1;
      if (other >= 0 && other < m_ - 1 && edges_[other] <= x && x < edges_[other + 1]) return other;
    }
    return BinOf(edges_, m_, x);
  }

 private:
  const T* const edges_;
  const int64_t m_;
  const T low_, high_;
  T scale_;
  bool guesses_;
};

template <class T>
void Count(const HistogramArgs<T>& args) {
  const Bins<T> bins(args);
  if (args.places != nullptr) {
    ParallelRanges(args.n, kGrain, [&](int64_t begin, int64_t end) HWY_ATTR {
      for (int64_t i = begin; i < end; ++i) args.places[i] = bins.Of(args.x[i]);
    });
    return;
  }
  // Each chunk counts for itself, in one place more for what is in no bin.
  const int64_t width = args.num_edges;
  const int64_t chunks = std::clamp<int64_t>(args.n / std::max(kGrain, width), 1, GetNumThreads());
  Scratch scratch;
  int64_t* const counts = scratch.Get<int64_t>(chunks * width);
  ParallelFor(chunks, [&](int64_t c) HWY_ATTR {
    int64_t* const own = counts + c * width;
    std::fill(own, own + width, int64_t{0});
    for (int64_t i = args.n * c / chunks; i < args.n * (c + 1) / chunks; ++i) ++own[bins.Of(args.x[i]) + 1];
  });
  for (int64_t b = 1; b < width; ++b) {
    int64_t count = 0;
    for (int64_t c = 0; c < chunks; ++c) count += counts[c * width + b];
    args.counts[b - 1] = static_cast<T>(count);
  }
}

}  // namespace

void HistogramKernel(const HistogramArgs<float>& args) { Count(args); }
void HistogramKernel(const HistogramArgs<double>& args) { Count(args); }

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

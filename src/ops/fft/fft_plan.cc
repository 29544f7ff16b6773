// SPDX-License-Identifier: MIT
#include "ops/fft/fft_plan.h"

#include <algorithm>
#include <deque>
#include <list>
#include <mutex>
#include <vector>

#include "numerics/root_of_unity.h"
#include "ops/fft/fft_kernel.h"

namespace repdl {
namespace {

/// At most so many bytes of tables are kept beside those of the last call.
constexpr size_t kMaxBytes = size_t{64} << 20;

/// 4 as often as it goes, then 2, then odd primes. A prime above kMaxFftFactor comes last.
std::vector<int64_t> FactorsOf(int64_t n) {
  std::vector<int64_t> factors;
  const auto divide = [&](int64_t p) {
    for (; n % p == 0; n /= p) factors.push_back(p);
  };
  divide(4);
  divide(2);
  for (int64_t p = 3; p <= kMaxFftFactor; p += 2) divide(p);
  if (n > 1) factors.push_back(n);
  return factors;
}

/// The least 2^k, 3 2^k or 5 2^k that is at least `least`.
int64_t ConvolutionLength(int64_t least) {
  int64_t length = 0;
  for (int64_t c : {1, 3, 5}) {
    while (c < least) c *= 2;
    length = length == 0 ? c : std::min(length, c);
  }
  return length;
}

template <class T>
class Builder : public FftPlan<T> {
 public:
  Builder(int64_t n, bool real) {
    const bool pairs = real && n % 2 == 0;
    Fill(this->complex, pairs ? n / 2 : n);
    if (!pairs) return;
    const RootsOfUnity roots(n);
    T* const to = New(2 * (n / 2 + 1));
    this->untangling = to;
    for (int64_t k = 0; k <= n / 2; ++k) {
      const auto [cosine, sine] = roots.At(k);
      to[k] = static_cast<T>(0.0 - sine);
      to[n / 2 + 1 + k] = static_cast<T>(0.0 - cosine);
    }
  }

  size_t bytes() const { return bytes_; }

 private:
  T* New(int64_t count) {
    bytes_ += static_cast<size_t>(count) * sizeof(T);
    return arrays_.emplace_back(count + 64).data();  // a vector may be read behind the end
  }

  void Fill(FftTable<T>& table, int64_t n) {
    const std::vector<int64_t> factors = FactorsOf(n);
    table = {};
    table.n = n;
    if (!factors.empty() && factors.back() > kMaxFftFactor) {
      FillSteps(table, ConvolutionLength(2 * n - 1));
      FillConvolution(table);
    } else {
      FillSteps(table, n);
    }
  }

  void FillSteps(FftTable<T>& table, int64_t length) {
    const std::vector<int64_t> factors = FactorsOf(length);
    table.length = length;
    table.num_factors = static_cast<int>(factors.size());
    std::copy(factors.begin(), factors.end(), table.factors);
    const RootsOfUnity roots(length);
    for (int64_t l = 1, i = 0; i < table.num_factors; ++i) {
      const int64_t p = factors[i];
      if (l > 1) table.roots[i] = Twiddles(roots, l, p);
      if (p % 2 != 0) table.inside[i] = Inside(roots, p);
      l *= p;
      // The first product that is not below the root of the length.
      if (table.split == 0 && l * l >= length && l < length) {
        table.split = static_cast<int>(i + 1);
        table.rows = l;
        table.columns = length / l;
      }
    }
  }

  const T* Twiddles(const RootsOfUnity& roots, int64_t l, int64_t p) {
    const int64_t step = roots.n() / (l * p), count = (p - 1) * l;
    T* const to = New(2 * count);
    for (int64_t q = 1; q < p; ++q) {
      for (int64_t k = 0; k < l; ++k) {
        const auto [cosine, sine] = roots.At(q * k * step);
        to[(q - 1) * l + k] = static_cast<T>(cosine);
        to[count + (q - 1) * l + k] = static_cast<T>(0.0 - sine);
      }
    }
    return to;
  }

  const T* Inside(const RootsOfUnity& roots, int64_t p) {
    const int64_t half = p / 2;
    T* const to = New(2 * half * half);
    for (int64_t q = 1; q <= half; ++q) {
      for (int64_t j = 1; j <= half; ++j) {
        const auto [cosine, sine] = roots.At(j * q % p * (roots.n() / p));
        to[(q - 1) * half + j - 1] = static_cast<T>(cosine);
        to[half * half + (q - 1) * half + j - 1] = static_cast<T>(sine);
      }
    }
    return to;
  }

  void FillConvolution(FftTable<T>& table) {
    const int64_t n = table.n, length = table.length;
    const RootsOfUnity roots(2 * n);
    T* const chirp = New(2 * n);
    std::vector<double> inverse(2 * length);  // pairs
    for (int64_t k = 0, square = 0; k < n; ++k) {
      const auto [cosine, sine] = roots.At(square);
      chirp[k] = static_cast<T>(cosine);
      chirp[n + k] = static_cast<T>(0.0 - sine);
      for (const int64_t at : {k, k == 0 ? 0 : length - k}) {
        inverse[2 * at] = cosine;
        inverse[2 * at + 1] = sine;
      }
      square = (square + 2 * k + 1) % (2 * n);
    }
    const auto plan = FftPlanOf<double>(length, false);
    FftArgs<double> args{};
    args.table = plan->complex;
    args.kind = FftKind::kComplex;
    args.num_rows = 1;
    args.in = {inverse.data(), inverse.data() + 1, 2};
    args.out = {inverse.data(), inverse.data() + 1, 2};
    args.divisor = static_cast<double>(length);
    FftKernel(Place(), args);
    T* const kernel = New(2 * length);
    for (int64_t k = 0; k < length; ++k) {
      kernel[k] = static_cast<T>(inverse[2 * k]);
      kernel[length + k] = static_cast<T>(inverse[2 * k + 1]);
    }
    table.chirp = chirp;
    table.kernel = kernel;
  }

  std::deque<std::vector<T>> arrays_;
  size_t bytes_ = 0;
};

template <class T>
class Cache {
 public:
  using Plan = std::shared_ptr<const Builder<T>>;

  Plan Get(int64_t n, bool real) {
    if (Plan found = Find(n, real)) return found;
    Plan made = std::make_shared<const Builder<T>>(n, real);  // without the lock: other lengths do not wait
    const std::lock_guard lock(mutex_);
    entries_.push_front({n, real, made});
    bytes_ += made->bytes();
    while (entries_.size() > 1 && bytes_ > kMaxBytes) {
      bytes_ -= entries_.back().plan->bytes();
      entries_.pop_back();
    }
    return made;
  }

 private:
  struct Entry {
    int64_t n;
    bool real;
    Plan plan;
  };

  Plan Find(int64_t n, bool real) {
    const std::lock_guard lock(mutex_);
    const auto at = std::find_if(entries_.begin(), entries_.end(),
                                 [&](const Entry& entry) { return entry.n == n && entry.real == real; });
    if (at == entries_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, at);
    return at->plan;
  }

  std::mutex mutex_;
  std::list<Entry> entries_;  // the last used one first
  size_t bytes_ = 0;
};

}  // namespace

template <class T>
std::shared_ptr<const FftPlan<T>> FftPlanOf(int64_t n, bool real) {
  static auto* cache = new Cache<T>();  // never destroyed: threads may outlive main
  return cache->Get(n, real);
}
template std::shared_ptr<const FftPlan<float>> FftPlanOf(int64_t, bool);
template std::shared_ptr<const FftPlan<double>> FftPlanOf(int64_t, bool);

}  // namespace repdl

// SPDX-License-Identifier: MIT
#include "repdl/overlap.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace repdl {
namespace {

/// A number of steps, at least `low` and at most `high`. All in double, where nothing overflows; below 2^53 bytes, more
/// than there is memory, it is exact.
struct Term {
  double step, low, high;
};

/// Whether steps, not all zero if that is asked for, lead to a place: a search from the longest step to the shortest,
/// along ways that the shorter ones can still make good.
class Search {
 public:
  explicit Search(std::vector<Term> terms) : terms_(std::move(terms)), reaches_(terms_.size() + 1) {
    std::sort(terms_.begin(), terms_.end(), [](const Term& a, const Term& b) { return a.step > b.step; });
    for (size_t i = terms_.size(); i-- > 0;) {
      const auto& [step, low, high] = terms_[i];
      reaches_[i] = {reaches_[i + 1].low + low * step, reaches_[i + 1].high + high * step};
    }
  }

  bool Leads(double to, bool has_moved, size_t i = 0) {
    if (i == terms_.size()) return to == 0 && has_moved;
    if (--budget_ < 0) return true;
    const auto& [step, low, high] = terms_[i];
    const double first = std::max(low, std::ceil((to - reaches_[i + 1].high) / step));
    const double last = std::min(high, std::floor((to - reaches_[i + 1].low) / step));
    for (double count = first; count <= last; ++count) {
      if (Leads(to - count * step, has_moved || count != 0, i + 1)) return true;
    }
    return false;
  }

 private:
  struct Reach {
    double low = 0, high = 0;
  };

  std::vector<Term> terms_;
  std::vector<Reach> reaches_;  // of the terms from there on
  int64_t budget_ = 1000000;
};

/// Whether the dimensions are in order, and each step clears all that lies within.
bool IsNested(std::span<const int64_t> shape, std::span<const int64_t> strides) {
  double last = 0;
  for (size_t dim = shape.size(); dim-- > 0;) {
    if (shape[dim] == 1) continue;
    const double step = std::fabs(static_cast<double>(strides[dim]));
    if (step <= last) return false;
    last += static_cast<double>(shape[dim] - 1) * step;
  }
  return true;
}

bool IsEmpty(std::span<const int64_t> shape) { return std::ranges::find(shape, 0) != shape.end(); }

/// The steps of one of two tensors that lead away from its first element, `sign` of them.
void AddTerms(const Strided& tensor, double sign, std::vector<Term>& terms) {
  for (size_t dim = 0; dim < tensor.shape.size(); ++dim) {
    const double step = sign * static_cast<double>(tensor.steps[dim]);
    const double most = static_cast<double>(tensor.shape[dim] - 1);
    if (step == 0 || most == 0) continue;
    const Term term = step > 0 ? Term{step, 0, most} : Term{-step, -most, 0};
    const auto same = std::ranges::find(terms, term.step, &Term::step);
    if (same == terms.end()) {
      terms.push_back(term);
    } else {
      same->low += term.low, same->high += term.high;
    }
  }
}

}  // namespace

bool ElementsOverlap(std::span<const int64_t> shape, std::span<const int64_t> strides) {
  if (IsNested(shape, strides) || IsEmpty(shape)) return false;
  std::vector<Term> terms;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    const double most = static_cast<double>(shape[dim] - 1);
    if (most == 0) continue;
    if (strides[dim] == 0) return true;
    terms.push_back({std::fabs(static_cast<double>(strides[dim])), -most, most});
  }
  return Search(std::move(terms)).Leads(0, false);
}

bool ElementsOverlap(const Strided& a, const Strided& b) {
  if (IsEmpty(a.shape) || IsEmpty(b.shape)) return false;
  // They do where a.address + its steps - (b.address + its steps) = byte - (a.item_size - 1), for some such byte.
  std::vector<Term> terms = {{1, 0, static_cast<double>(a.item_size + b.item_size - 2)}};
  AddTerms(a, -1, terms);
  AddTerms(b, 1, terms);
  const double apart =
      a.address >= b.address ? static_cast<double>(a.address - b.address) : -static_cast<double>(b.address - a.address);
  return Search(std::move(terms)).Leads(apart + static_cast<double>(a.item_size - 1), true);
}

}  // namespace repdl

// SPDX-License-Identifier: MIT
#include "ops/roi_align/roi_align_lists.h"

#include <algorithm>
#include <vector>

#include "base/parallel.h"
#include "ops/roi_align/roi_align_points.h"

namespace repdl {
namespace {

/// Of each element along an axis a sum of weights and a number of terms; zeros but while they are used.
struct Totals {
  explicit Totals(int64_t size) : weights(static_cast<size_t>(size)), counts(static_cast<size_t>(size)) {}
  std::vector<double> weights;
  std::vector<int64_t> counts;
};

/// The memory of a RoiAxis.
template <class T>
class AxisList {
 public:
  void Fill(T from, T to, int64_t num_bins, int64_t size, const RoiSettings<T>& settings, Totals& totals) {
    starts_.assign(1, 0);
    elements_.clear(), weights_.clear();
    const RoiBins<T> bins(from, to, num_bins, size, settings);
    for (int64_t i = 0; i < num_bins; ++i) {
      AppendBin(bins, i, totals);
      starts_.push_back(static_cast<int64_t>(elements_.size()));
    }
    ListUsed(totals.counts);
  }

  RoiAxis<T> View() const {
    return {starts_.data(), elements_.data(),    weights_.data(), static_cast<int64_t>(used_.size()),
            used_.data(),   used_starts_.data(), bins_.data(),    bin_weights_.data()};
  }

 private:
  void AppendBin(const RoiBins<T>& bins, int64_t bin, Totals& totals) {
    int64_t low = INT32_MAX, high = -1;
    bins.ForNeighbours(bin, [&](int64_t element, double weight) {
      totals.weights[element] = totals.weights[element] + weight;
      ++totals.counts[element];
      low = std::min(low, element), high = std::max(high, element);
    });
    for (int64_t element = low; element <= high; ++element) {
      if (totals.counts[element] == 0) continue;
      elements_.push_back(static_cast<int32_t>(element));
      weights_.push_back(bins.WeightOf(totals.weights[element]));
      totals.weights[element] = 0, totals.counts[element] = 0;
    }
  }

  /// `counts` are zeros, and are so again afterwards.
  void ListUsed(std::vector<int64_t>& counts) {
    used_.clear();
    used_starts_.assign(1, 0);
    bins_.resize(elements_.size()), bin_weights_.resize(elements_.size());
    int64_t low = INT32_MAX, high = -1, total = 0;
    for (const int32_t element : elements_) {
      ++counts[element];
      low = std::min<int64_t>(low, element), high = std::max<int64_t>(high, element);
    }
    for (int64_t element = low; element <= high; ++element) {
      if (counts[element] == 0) continue;
      used_.push_back(static_cast<int32_t>(element));
      const int64_t next = total;
      total += counts[element];
      counts[element] = next;  // where the next bin goes
      used_starts_.push_back(total);
    }
    for (size_t bin = 0; bin + 1 < starts_.size(); ++bin) {
      for (int64_t t = starts_[bin]; t < starts_[bin + 1]; ++t) {
        const int64_t at = counts[elements_[t]]++;
        bins_[at] = static_cast<int32_t>(bin);
        bin_weights_[at] = weights_[t];
      }
    }
    for (const int32_t element : used_) counts[element] = 0;
  }

  std::vector<int64_t> starts_, used_starts_;
  std::vector<int32_t> elements_, used_, bins_;
  std::vector<T> weights_, bin_weights_;
};

template <class T>
struct RoiList {
  AxisList<T> y, x;
};

}  // namespace

template <class T>
void ForListedBoxes(const RoiAlignArgs<T>& args, void (*run)(const RoiAlignArgs<T>& args, const Roi<T>* rois)) {
  constexpr int64_t kChunk = 128, kGrain = 16;  // boxes that are listed at a time, and that are worth a fork
  std::vector<RoiList<T>> lists(static_cast<size_t>(std::min(args.count, kChunk)));
  std::vector<Roi<T>> rois(lists.size());
  for (int64_t first = 0; first < args.count; first += kChunk) {
    RoiAlignArgs<T> some = args;
    some.count = std::min(kChunk, args.count - first);
    some.boxes += 4 * first, some.images += first;
    const int64_t outputs = first * args.channels * args.rows * args.columns;
    if (args.output != nullptr) some.output += outputs;
    if (args.grad_output != nullptr) some.grad_output += outputs;
    ParallelRanges(some.count, kGrain, [&](int64_t begin, int64_t end) {
      Totals totals(std::max(args.height, args.width));
      for (int64_t i = begin; i < end; ++i) {
        const T* const corners = some.boxes + 4 * i;
        RoiList<T>& list = lists[i];
        list.x.Fill(corners[0], corners[2], args.columns, args.width, args.settings, totals);
        list.y.Fill(corners[1], corners[3], args.rows, args.height, args.settings, totals);
        rois[i] = {some.images[i], list.y.View(), list.x.View()};
      }
    });
    run(some, rois.data());
  }
}

template void ForListedBoxes(const RoiAlignArgs<float>& args,
                             void (*run)(const RoiAlignArgs<float>&, const Roi<float>*));
template void ForListedBoxes(const RoiAlignArgs<double>& args,
                             void (*run)(const RoiAlignArgs<double>&, const Roi<double>*));

}  // namespace repdl

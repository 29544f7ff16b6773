// SPDX-License-Identifier: MIT
#include "base/arena.h"
#include "base/parallel.h"
#include "drivers/vector_cpu-inl.h"
#include "ops/embedding/embedding_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

template <class T>
void DivideRows(const DivideRowsArgs<T>& args) {
  ParallelRanges(args.rows, 8192 / std::max<int64_t>(args.width, 1) + 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t row = begin; row < end; ++row) {
      if (args.numbers[row] == 0) continue;
      const VecOf<T> number = Set(TagOf<T>(), static_cast<T>(args.numbers[row]));
      T* const data = args.data + row * args.width;
      ForVectors<T>(args.width, [&](int64_t i, int64_t count)
                                    HWY_ATTR { StoreN<T>(Div(LoadN(data + i, count), number), data + i, count); });
    }
  });
}

template <class T>
void FindMaxima(const BagMaximaArgs<T>& args) {
  const int64_t width = args.width;
  const int64_t work = args.bounds[args.bags] * width / args.bags + 1;  // of a bag
  ParallelRanges(args.bags, 16384 / work + 1, [&](int64_t begin, int64_t end) {
    for (int64_t bag = begin; bag < end; ++bag) {
      T* const largest = args.output + bag * width;
      int64_t* const places = args.maximum_indices + bag * width;
      bool is_first = true;
      for (int64_t i = args.bounds[bag]; i < args.bounds[bag + 1]; ++i) {
        if (args.to[i] < 0) continue;
        const int64_t index = args.indices[i];
        const T* const row = args.table + index * width;
        if (is_first) {
          std::copy_n(row, width, largest);
          std::fill_n(places, width, index);
        } else {
          for (int64_t j = 0; j < width; ++j) {
            const bool is_larger = row[j] > largest[j];
            largest[j] = is_larger ? row[j] : largest[j];
            places[j] = is_larger ? index : places[j];
          }
        }
        is_first = false;
      }
    }
  });
}

template <class T>
void FindFrequencies(const FrequencyArgs<T>& args) {
  Scratch scratch;
  auto* const counts = scratch.Get<int64_t>(args.rows);
  std::fill_n(counts, args.rows, int64_t{0});
  for (int64_t i = 0; i < args.count; ++i) ++counts[args.indices[i]];
  for (int64_t i = 0; i < args.count; ++i) {
    const auto frequency = static_cast<T>(counts[args.indices[i]]);
    args.frequencies[i] = args.is_inverse ? T{1} / frequency : frequency;
  }
}

}  // namespace

void BagsKernel(const BagsArgs& args) {
  std::copy_n(args.offsets, args.bags, args.bounds);
  args.bounds[args.bags] = args.count;
  for (int64_t b = 0; b < args.bags; ++b) {
    std::fill(args.bag_of + args.bounds[b], args.bag_of + args.bounds[b + 1], b);
    args.sizes[b] = 0;
    for (int64_t i = args.bounds[b]; i < args.bounds[b + 1]; ++i) {
      const bool is_kept = args.indices[i] != args.left_out;
      args.to[i] = is_kept ? b : -1;
      if (is_kept) ++args.sizes[b];
    }
  }
}

void DivideRowsKernel(const DivideRowsArgs<float>& args) { DivideRows(args); }
void DivideRowsKernel(const DivideRowsArgs<double>& args) { DivideRows(args); }
void BagMaximaKernel(const BagMaximaArgs<float>& args) { FindMaxima(args); }
void BagMaximaKernel(const BagMaximaArgs<double>& args) { FindMaxima(args); }
void FrequencyKernel(const FrequencyArgs<float>& args) { FindFrequencies(args); }
void FrequencyKernel(const FrequencyArgs<double>& args) { FindFrequencies(args); }

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

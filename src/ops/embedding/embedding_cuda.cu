// SPDX-License-Identifier: MIT
#include "drivers/row_cuda.h"
#include "drivers/segment_cuda.h"
#include "ops/embedding/embedding_kernel.h"

namespace repdl::cuda {

struct RowsOfIndices {
  const int64_t* indices;
  int64_t rows;

  __device__ __forceinline__ int64_t operator()(int64_t i) const { return CheckedIndex(indices[i], rows); }
};

template <class T, class Key>
struct FrequencyCall {
  FrequencyArgs<T> args;
  SortedTerms<Key> terms;
};

template <class T, class Key>
__global__ void __launch_bounds__(kThreadsPerBlock)
    FrequenciesKernel(const __grid_constant__ FrequencyCall<T, Key> call) {
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < call.terms.count; i += num_threads) {
    const auto frequency = static_cast<T>(call.terms.CountAt(i));
    call.args.frequencies[call.terms.TermOf(i)] = call.args.is_inverse ? scalar::Div(T{1}, frequency) : frequency;
  }
}

template <class T>
static void Run(const Place& place, const FrequencyArgs<T>& args) {
  const RowsOfIndices rows{args.indices, args.rows};
  WithSortedTerms(place, args.count, args.rows, rows, [&]<class Key>(const SortedTerms<Key>& terms) {
    Launch(place, args.count, &FrequenciesKernel<T, Key>, FrequencyCall<T, Key>{args, terms});
  });
}

/// The bag of an index, or a bag, by each thread.
__global__ void __launch_bounds__(kThreadsPerBlock) FindBagsKernel(const __grid_constant__ BagsArgs args) {
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  const int64_t *const offsets = args.offsets, count = args.count, bags = args.bags;
  for (int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; at <= bags || at < count; at += num_threads) {
    if (at < args.num_offsets) {
      // They begin with 0, do not fall, and do not exceed the indices.
      const int64_t least = at == 0 ? 0 : offsets[at - 1], most = at == 0 ? 0 : count;
      if (offsets[at] < least || offsets[at] > most) __trap();
    }
    if (at <= bags) args.bounds[at] = at < bags ? offsets[at] : count;
    if (at < bags) {
      const int64_t end = at + 1 < bags ? offsets[at + 1] : count;
      int64_t size = 0;
      for (int64_t i = offsets[at]; i < end && i < count; ++i) size += args.indices[i] != args.left_out ? 1 : 0;
      args.sizes[at] = size;
    }
    if (at < count) {
      int64_t first = 0, last = bags;  // of the bags that begin behind the index
      while (first < last) {
        const int64_t middle = first + (last - first) / 2;
        if (offsets[middle] <= at) {
          first = middle + 1;
        } else {
          last = middle;
        }
      }
      args.bag_of[at] = first - 1;
      if (args.to != args.bag_of) args.to[at] = args.indices[at] != args.left_out ? first - 1 : -1;
    }
  }
}

template <class T>
__global__ void __launch_bounds__(kThreadsPerBlock) DivideKernel(const __grid_constant__ DivideRowsArgs<T> args) {
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < args.rows * args.width; at += num_threads) {
    int64_t row = at;
    scalar::TakeRemainder(row, args.width);
    if (args.numbers[row] == 0) continue;
    args.data[at] = scalar::Div(args.data[at], static_cast<T>(args.numbers[row]));
  }
}

template <class T>
static void Run(const Place& place, const DivideRowsArgs<T>& args) {
  if (args.rows * args.width > 0) Launch(place, args.rows * args.width, &DivideKernel<T>, args);
}

/// A column of a bag by each thread.
template <class T>
__global__ void __launch_bounds__(kThreadsPerBlock) MaximaKernel(const __grid_constant__ BagMaximaArgs<T> args) {
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < args.bags * args.width; at += num_threads) {
    int64_t bag = at;
    const int64_t column = scalar::TakeRemainder(bag, args.width);
    bool is_first = true;
    T largest = 0;
    int64_t place = 0;
    for (int64_t i = args.bounds[bag]; i < args.bounds[bag + 1]; ++i) {
      if (args.to[i] < 0) continue;
      const int64_t index = CheckedIndex(args.indices[i], args.rows);
      const T number = args.table[index * args.width + column];
      if (is_first || number > largest) largest = number, place = index;
      is_first = false;
    }
    if (is_first) continue;
    args.output[at] = largest;
    args.maximum_indices[at] = place;
  }
}

REPDL_CUDA_KERNEL(BagsKernel, BagsArgs) { Launch(place, std::max(args.bags + 1, args.count), &FindBagsKernel, args); }
REPDL_CUDA_KERNEL(DivideRowsKernel, DivideRowsArgs<float>) { Run(place, args); }
REPDL_CUDA_KERNEL(DivideRowsKernel, DivideRowsArgs<double>) { Run(place, args); }
REPDL_CUDA_KERNEL(BagMaximaKernel, BagMaximaArgs<float>) {
  Launch(place, args.bags * args.width, &MaximaKernel<float>, args);
}
REPDL_CUDA_KERNEL(BagMaximaKernel, BagMaximaArgs<double>) {
  Launch(place, args.bags * args.width, &MaximaKernel<double>, args);
}
REPDL_CUDA_KERNEL(FrequencyKernel, FrequencyArgs<float>) { Run(place, args); }
REPDL_CUDA_KERNEL(FrequencyKernel, FrequencyArgs<double>) { Run(place, args); }

}  // namespace repdl::cuda

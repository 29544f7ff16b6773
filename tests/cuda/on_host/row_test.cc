// SPDX-License-Identifier: MIT
// The words of rows give the numbers of the contract, however many threads share a row: for lengths around a warp, a lane,
// a tile, a chunk and a round of chunks, and for more rows than the launch has threads, warps or blocks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "cuda/digest_on_device.h"
#include "cuda/on_host/block.h"
#include "drivers/row_cuda.h"

namespace repdl::scalar {

/// What EveryWord finds.
template <class T>
struct Found {
  T largest, sum, of_place, second_sum, all, none;
};

/// A text that has every word, one after the other on the same numbers.
template <class Row, class X, class Y, class T = typename Row::Number>
REPDL_ROW Found<T> EveryWord(const Row& row, const X& x, const Y& y, int64_t place) {
  Found<T> found;
  const auto d = row.Tag();
  found.largest = row.OneOf(row.Spread(row.Max(x)));
  row.Each([&](auto at) REPDL_ROW_LAMBDA { y.Put(at, Sub(x(at), row.Spread(found.largest))); });
  found.sum = row.Sum(y);
  row.At(place, [&](auto at) REPDL_ROW_LAMBDA { y.Put(at, row.Spread(found.sum)); });
  found.of_place = row.Get(place, [&](auto at) REPDL_ROW_LAMBDA { return Mul(y(at), Set(d, T{2})); });
  found.second_sum = row.SumByChunk([&](auto at) REPDL_ROW_LAMBDA { return Mul(y(at), x(at)); });
  row.Each([&](auto at) REPDL_ROW_LAMBDA { y.Put(at, Set(d, T{1})); });
  found.all = row.All([&](auto at) REPDL_ROW_LAMBDA { return Eq(y(at), Set(d, T{1})); }) ? T{1} : T{0};
  row.At(place, [&](auto at) REPDL_ROW_LAMBDA { y.Put(at, Zero(d)); });
  found.none = row.All([&](auto at) REPDL_ROW_LAMBDA { return Eq(y(at), Set(d, T{1})); }) ? T{1} : T{0};
  return found;
}

}  // namespace repdl::scalar

namespace repdl::cuda {
namespace {

constexpr int64_t kRows = 7;

/// The contract's Sum, as it stands there.
template <class T>
T SumOf(const std::vector<T>& x, Order order) {
  T acc = 0;
  if (order == Order::kSequential) {
    for (const T number : x) acc += number;
    return acc;
  }
  std::vector<T> waiting;
  int64_t chunk = 0;
  for (size_t begin = 0; begin < x.size(); begin += kSumChunk, ++chunk) {
    T lane[kSumLanes] = {};
    for (size_t i = begin; i < std::min<size_t>(x.size(), begin + kSumChunk); ++i) lane[i % kSumLanes] += x[i];
    for (int h = kSumLanes / 2; h >= 1; h /= 2) {
      for (int j = 0; j < h; ++j) lane[j] += lane[j + h];
    }
    T value = lane[0];
    for (int64_t i = chunk; i % 2 == 1; i /= 2) {
      value = waiting.back() + value;
      waiting.pop_back();
    }
    waiting.push_back(value);
  }
  if (waiting.empty()) return 0;
  T result = waiting.back();
  for (waiting.pop_back(); !waiting.empty(); waiting.pop_back()) result = waiting.back() + result;
  return result;
}

template <class T>
struct WordsArgs {
  const T* x;
  T* y;
  int64_t stride;  // between rows
  scalar::Found<T>* found;
};

REPDL_LANE int64_t PlaceIn(int64_t n, int64_t r) { return (r * 1237 + n / 2) % n; }

struct Words {
  template <class Row, class T>
  REPDL_ROW void operator()(const Row& row, int64_t r, const WordsArgs<T>& args) const {
    const scalar::RowNumbers<const T> x{args.x + r * args.stride};
    const scalar::RowNumbers<T> y{args.y + r * args.stride};
    const scalar::Found<T> found = scalar::EveryWord(row, x, y, PlaceIn(row.n, r));
    if (row.IsFirst()) args.found[r] = found;
  }
};

/// Runs kRows rows, which `run` starts, in some schedules, and looks at what was found.
template <class T, class Run>
void Expect(int64_t n, Order order, const Run& run) {
  std::mt19937 draws(static_cast<uint32_t>(n));
  std::normal_distribution<T> normal;
  std::vector<T> x(static_cast<size_t>(kRows * n));
  for (T& number : x) number = normal(draws);
  std::vector<scalar::Found<T>> want;
  for (int64_t r = 0; r < kRows; ++r) {
    const auto* const first = x.data() + r * n;
    const std::vector<T> row(first, first + n);
    const T largest = *std::ranges::max_element(row);
    std::vector<T> y(row);
    for (T& number : y) number -= largest;
    const T sum = SumOf(y, order);
    y[static_cast<size_t>(PlaceIn(n, r))] = sum;
    for (size_t i = 0; i < y.size(); ++i) y[i] *= row[i];
    want.push_back({largest, sum, sum * 2, SumOf(y, order), 1, 0});
  }
  const testing::DeviceMemory x_memory(std::as_bytes(std::span(x))), y_memory(x.size() * sizeof(T));
  const testing::DeviceMemory found_memory(want.size() * sizeof want[0]);
  const auto* const found = reinterpret_cast<const scalar::Found<T>*>(found_memory.data());
  const RowsArgs<WordsArgs<T>> args{kRows,
                                    n,
                                    order,
                                    {reinterpret_cast<const T*>(x_memory.data()), reinterpret_cast<T*>(y_memory.data()),
                                     n, reinterpret_cast<scalar::Found<T>*>(found_memory.data())}};
  for (uint32_t schedule = 1; schedule <= 3; ++schedule) {
    on_host::SetSchedule(schedule);
    run(Place{"words", testing::kDevice}, args);
    for (size_t r = 0; r < want.size(); ++r) {
      EXPECT_EQ(std::memcmp(&found[r], &want[r], sizeof want[r]), 0)
          << "row " << r << " of " << n << ", order " << static_cast<int>(order) << ", schedule " << schedule
          << ": largest " << found[r].largest << " for " << want[r].largest << ", sum " << found[r].sum << " for "
          << want[r].sum << ", place " << found[r].of_place << " for " << want[r].of_place << ", second sum "
          << found[r].second_sum << " for " << want[r].second_sum << ", all " << found[r].all << found[r].none;
    }
  }
}

template <class Run>
void ExpectForAll(std::initializer_list<int64_t> lengths, const Run& run) {
  for (const int64_t n : lengths) {
    for (const Order order : {Order::kBlocked, Order::kSequential}) {
      Expect<float>(n, order, run);
      Expect<double>(n, order, run);
    }
  }
}

TEST(CudaRows, OfAThread) {
  ExpectForAll({1, 2, 3, 31, 32, 33, 63, 64, 65, 130, 4095, 4096, 4097, 12293, 28672},
               [&]<class T>(const Place& place, const RowsArgs<WordsArgs<T>>& args) {
                 Launch(place, Grid{1, 3}, &ThreadRowsKernel<T, Words, WordsArgs<T>>, args);
               });
}

TEST(CudaRows, OfAWarp) {
  ExpectForAll({1, 2, 31, 32, 33, 63, 64, 65, 95, 97, 130, 1000, 1024, 4095, 4096},
               [&]<class T>(const Place& place, const RowsArgs<WordsArgs<T>>& args) {
                 Launch(place, Grid{2, 2 * kWarpThreads}, &WarpRowsKernel<T, Words, WordsArgs<T>>, args);
               });
}

TEST(CudaRows, OfABlock) {
  for (const int threads : {32, 64, 256}) {
    ExpectForAll({1, 31, 33, 64, 65, 1000, 1023, 1025, 4096, 4097, 12293, 28672, 45126},
                 [&]<class T>(const Place& place, const RowsArgs<WordsArgs<T>>& args) {
                   Launch(place, Grid{2, threads, sizeof(RowShared<T>)}, &BlockRowsKernel<T, Words, WordsArgs<T>>,
                          args);
                 });
  }
}

TEST(CudaRows, OfNoNumbers) {
  const scalar::ThreadRow<float> row{{0, Order::kBlocked}};
  const scalar::RowNumbers<const float> nothing{nullptr};
  EXPECT_EQ(row.Sum(nothing), 0.0f);
  EXPECT_FALSE(std::signbit(row.Sum(nothing)));
  EXPECT_EQ(row.Max(nothing), -std::numeric_limits<float>::infinity());
}

TEST(CudaRows, LoopsOfMoreThan32Bits) {
  Loops loops;
  loops.Append(3, 11);
  loops.Append(5'000'000'000, -2);
  loops.Append(7, 0);
  const scalar::DeviceLoops on_device(loops);
  for (const int64_t i : {int64_t{0}, int64_t{34'999'999'999}, int64_t{35'000'000'000}, int64_t{104'999'999'999}}) {
    EXPECT_EQ(on_device.Offset(i), loops.Offset(i)) << i;
  }
  EXPECT_EQ(scalar::DeviceLoops(Loops()).Offset(0), 0);
}

}  // namespace
}  // namespace repdl::cuda

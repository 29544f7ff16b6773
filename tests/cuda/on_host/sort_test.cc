// SPDX-License-Identifier: MIT
// Entries are sorted for lengths around a warp, a tile and rounds of merging, alone and in rows; terms come to their places
// in order, and a place that is none stops the kernel.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "cuda/digest_on_device.h"
#include "cuda/on_host/block.h"
#include "drivers/segment_cuda.h"
#include "repdl/ops.h"

namespace repdl::cuda {
namespace {

constexpr Place kPlace{"sort", testing::kDevice};

template <class Key>
struct GivenKeys {
  const Key* keys;
  int64_t n;

  SortEntry<Key> operator()(int64_t row, int64_t i) const { return SortEntry<Key>::Make(keys[row * n + i], i); }
};

template <class Key>
void ExpectSorted(int64_t rows, int64_t n, Key num_keys, uint32_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Key> keys(static_cast<size_t>(rows * n));
  // The largest key is one like others.
  for (Key& key : keys) key = static_cast<Key>(~(static_cast<Key>(random()) % num_keys));
  on_host::SetSchedule(seed);
  OpScratch scratch(kPlace);
  const GivenKeys<Key> source{keys.data(), n};
  const SortEntry<Key>* const sorted = Sorted<Key>(kPlace, rows, n, source, scratch);
  for (int64_t row = 0; row < rows; ++row) {
    std::vector<int64_t> want(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) want[static_cast<size_t>(i)] = i;
    std::ranges::stable_sort(want, {}, [&](int64_t i) { return keys[static_cast<size_t>(row * n + i)]; });
    for (int64_t i = 0; i < n; ++i) {
      const int64_t at = want[static_cast<size_t>(i)];
      ASSERT_EQ(sorted[row * n + i].Place(), at) << rows << " rows of " << n << ", " << row << ", " << i;
      ASSERT_EQ(sorted[row * n + i].KeyOf(), keys[static_cast<size_t>(row * n + at)]);
    }
  }
}

TEST(CudaSort, OfAnyLength) {
  uint32_t seed = 0;
  for (const int64_t n : {int64_t{1}, int64_t{2}, int64_t{31}, int64_t{33}, int64_t{255}, int64_t{257}, kSortTile - 1,
                          kSortTile, kSortTile + 1, 2 * kSortTile, 3 * kSortTile + 5, 5 * kSortTile - 1}) {
    for (const int64_t rows : {1, 3}) {
      ExpectSorted<uint32_t>(rows, n, 7, ++seed);
      ExpectSorted<uint32_t>(rows, n, UINT32_MAX, ++seed);
      ExpectSorted<uint64_t>(rows, n, UINT64_MAX, ++seed);
      ExpectSorted<uint64_t>(rows, n, 1, ++seed);
    }
  }
}

struct GivenPlaces {
  const int64_t* places;

  int64_t operator()(int64_t t) const { return places[t]; }
};

template <class Key>
void ExpectTermsInOrder(int64_t count, int64_t num_places, uint32_t seed) {
  std::mt19937_64 random(seed);
  std::vector<int64_t> places(static_cast<size_t>(count));
  std::vector<std::vector<int64_t>> want(static_cast<size_t>(num_places));
  for (size_t t = 0; t < places.size(); ++t) {
    places[t] = static_cast<int64_t>(random() % static_cast<uint64_t>(num_places + 1)) - 1;
    if (places[t] >= 0) want[static_cast<size_t>(places[t])].push_back(static_cast<int64_t>(t));
  }
  const EntryOfTerm<Key, GivenPlaces> source{{places.data()}};
  OpScratch scratch(kPlace);
  const SortedTerms<Key> terms{Sorted<Key>(kPlace, 1, count, source, scratch), count};
  std::vector<std::vector<int64_t>> got(want.size());
  for (int64_t i = 0; i < count; ++i) {
    if (!terms.Begins(i)) continue;
    auto& of_place = got[static_cast<size_t>(terms.PlaceOf(i))];
    ASSERT_TRUE(of_place.empty());
    terms.AddTo(0.0, i, [&](int64_t t) {
      of_place.push_back(t);
      return 1.0;
    });
    ASSERT_EQ(terms.CountAt(i), static_cast<int64_t>(of_place.size()));
    ASSERT_TRUE(terms.Ends(i + terms.CountAt(i) - 1));
  }
  EXPECT_EQ(got, want) << count << " terms, " << num_places << " places";
}

TEST(CudaSegments, TermsComeToTheirPlacesInOrder) {
  uint32_t seed = 0;
  for (const int64_t num_places : {1, 2, 100, 4000}) {
    for (const int64_t count : {1, 3, 4, 5, 8, 9, 1000, 2500}) {
      ExpectTermsInOrder<uint32_t>(count, num_places, ++seed);
      ExpectTermsInOrder<uint64_t>(count, num_places, ++seed);
    }
  }
}

TEST(CudaSegments, APlaceOutOfRangeStopsTheKernel) {
  const float numbers[] = {1, 2, 3};
  for (const int64_t place : {int64_t{3}, int64_t{-1}, INT64_MAX}) {
    const int64_t places[] = {0, place};
    const testing::DeviceMemory input(std::as_bytes(std::span(numbers))), output(sizeof numbers),
        index(std::as_bytes(std::span(places)));
    const auto floats = [](const testing::DeviceMemory& memory, int64_t n) {
      return MakeView(memory.data(), DType::kFloat32, {n}, testing::kDevice);
    };
    EXPECT_THROW(IndexAdd(floats(input, 3), 0, MakeView(index.data(), DType::kInt64, {2}, testing::kDevice),
                          floats(input, 2), 1.0, floats(output, 3)),
                 CudaError);
  }
}

}  // namespace
}  // namespace repdl::cuda

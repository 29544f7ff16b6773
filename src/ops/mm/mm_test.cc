// SPDX-License-Identifier: MIT
#include "repdl/ops/mm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "cpp/on_target.h"
#include "repdl/cuda.h"
#include "repdl/error.h"
#include "repdl/target.h"

namespace repdl {
namespace {

TEST(Mm, SaysWhatIsWrong) {
  float x[6] = {}, y[6] = {}, z[4] = {};
  const TensorView a = MakeView(x, {2, 3}), b = MakeView(y, {3, 2}), c = MakeView(z, {2, 2});
  const auto message = [&](const TensorView& input, const TensorView& mat2, const TensorView& output) -> std::string {
    try {
      Mm(input, mat2, false, false, Order::kBlocked, output);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(message(a, b, c), "no error");
  EXPECT_EQ(message(a, a, c),
            "[mm] mat2 of shape (2, 3) has 2 rows to multiply, but input of shape (2, 3) has 3 columns");
  EXPECT_EQ(message(MakeView(x, {6}), b, c), "[mm] input must have the shape (…, m, k), got 1 dimension of (6,)");
  EXPECT_EQ(message(MakeView(x, DType::kInt64, {2, 3}), b, c),
            "[mm] input must be float32, float64, bfloat16 or float16, got int64; convert it first, with "
            ".to(torch.float32) or .astype('float32')");
  EXPECT_EQ(message(a, b, MakeView(z, {4, 1})), "[mm] output must have the shape (2, 2), got (4, 1)");
}

TEST(Mm, RefusesAnotherDevice) {
  if (HasCuda()) GTEST_SKIP() << "it has a kernel there";
  const TensorView a = MakeView(nullptr, DType::kFloat32, {0, 3}, {DeviceType::kCuda, 0});
  const TensorView b = MakeView(nullptr, DType::kFloat32, {3, 2}, {DeviceType::kCuda, 0});
  const TensorView c = MakeView(nullptr, DType::kFloat32, {0, 2}, {DeviceType::kCuda, 0});
  EXPECT_THROW(Mm(a, b, false, false, Order::kBlocked, c), NotImplementedError);
  EXPECT_THROW(InferMm(a, MakeView(static_cast<float*>(nullptr), {3, 2}), false, false, Order::kBlocked), ValueError);
}

TEST(Mm, ZeroStridesRepeat) {
  // A row that stands for all rows, as expand() makes it.
  std::vector<float> row(300), b(300 * 5), expected(7 * 5), got(7 * 5), full(7 * 300);
  for (size_t i = 0; i < row.size(); ++i) row[i] = static_cast<float>(i % 17) - 8.0f;
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 13) - 6.0f;
  for (size_t i = 0; i < full.size(); ++i) full[i] = row[i % 300];
  TensorView expanded = MakeView(row.data(), {7, 300});
  expanded.strides = {0, 1};
  const TensorView mat2 = MakeView(b.data(), {300, 5});
  Mm(expanded, mat2, false, false, Order::kBlocked, MakeView(got.data(), {7, 5}));
  Mm(MakeView(full.data(), {7, 300}), mat2, false, false, Order::kBlocked, MakeView(expected.data(), {7, 5}));
  EXPECT_EQ(got, expected);
}

TEST(Mm, KeepsTheSignOfAZeroInTheLastChunk) {
  // Every product is below the smallest number, so every chain is -0, also one that ends within a vector.
  for (const size_t k : {600u, 771u, 1024u, 5000u}) {
    std::vector<float> a(k, 1e-30f), b(k, -1e-30f);
    const auto terms = static_cast<int64_t>(k);
    float result = 1;
    Mm(MakeView(a.data(), {1, terms}), MakeView(b.data(), {terms, 1}), false, false, Order::kBlocked,
       MakeView(&result, {1, 1}));
    EXPECT_EQ(result, 0.0f);
    EXPECT_TRUE(std::signbit(result)) << k;
  }
}

template <class T>
void FewRowsAreThoseOfMany(const std::string& target) {
  // Some vectors of columns go on together, unless these meet in a cache, and a last one alone; whole squares of them where
  // they lie on vectors' boundaries.
  constexpr int64_t kMany = 20, kColumns = 40;
  constexpr DType kType = sizeof(T) == 4 ? DType::kFloat32 : DType::kFloat64;
  for (const int64_t k : {255, 256, 511, 512, 768, 1024, 1300, 2048}) {
    for (const int64_t offset : {0, 1}) {
      std::vector<T> a(static_cast<size_t>(kMany * k)), b(static_cast<size_t>(kColumns * k + 64));
      for (size_t i = 0; i < a.size(); ++i) a[i] = std::sin(static_cast<T>(i));
      for (size_t i = 0; i < b.size(); ++i) b[i] = std::cos(static_cast<T>(i) * 3);
      const auto address = reinterpret_cast<uintptr_t>(b.data());
      T* const from = reinterpret_cast<T*>((address + 63) / 64 * 64) + offset;
      std::vector<T> many(kMany * kColumns);
      const TensorView mat2 = MakeView(from, kType, {kColumns, k});
      Mm(MakeView(a.data(), kType, {kMany, k}), mat2, false, true, Order::kBlocked,
         MakeView(many.data(), kType, {kMany, kColumns}));
      for (int64_t rows = 1; rows <= 9; ++rows) {
        std::vector<T> few(static_cast<size_t>(rows * kColumns));
        Mm(MakeView(a.data(), kType, {rows, k}), mat2, false, true, Order::kBlocked,
           MakeView(few.data(), kType, {rows, kColumns}));
        const std::vector<T> expected(many.begin(), many.begin() + rows * kColumns);
        EXPECT_EQ(few, expected) << target << ", k = " << k << ", offset " << offset << ", rows " << rows;
      }
    }
  }
}

TEST(Mm, FewRowsAreThoseOfManyAtEachAlignment) {
  const std::string before(ActiveTarget());
  for (const std::string_view target : SupportedTargets()) {
    SetTarget(target);
    FewRowsAreThoseOfMany<float>(std::string(target));
    FewRowsAreThoseOfMany<double>(std::string(target));
  }
  SetTarget(before);
}

template <class T>
void FewRowsAreThoseOfManyFor(int64_t k, int64_t n, int64_t stride, Order order, const std::string& target) {
  constexpr int64_t kMany = 26;
  constexpr DType kType = sizeof(T) == 4 ? DType::kFloat32 : DType::kFloat64;
  std::vector<T> a(static_cast<size_t>(kMany * k)), b(static_cast<size_t>(k * stride)), apart;
  for (size_t i = 0; i < a.size(); ++i) a[i] = std::sin(static_cast<T>(i));
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<T>(i % 1013) - static_cast<T>(506.5);
  // The same numbers in rows that lie elsewhere.
  for (int64_t row = 0; row < k; ++row) {
    apart.insert(apart.end(), b.begin() + row * stride, b.begin() + row * stride + n);
    apart.push_back(0);
  }
  TensorView mat2 = MakeView(b.data(), kType, {k, n}), mat2_apart = MakeView(apart.data(), kType, {k, n});
  mat2.strides = {stride, 1}, mat2_apart.strides = {n + 1, 1};
  std::vector<T> many(static_cast<size_t>(kMany * n));
  Mm(MakeView(a.data(), kType, {kMany, k}), mat2_apart, false, false, order, MakeView(many.data(), kType, {kMany, n}));
  for (const int64_t rows : {1, 4, 5, 7, 8, 12, 13, 16, 17, 26}) {
    std::vector<T> few(static_cast<size_t>(rows * n));
    Mm(MakeView(a.data(), kType, {rows, k}), mat2, false, false, order, MakeView(few.data(), kType, {rows, n}));
    EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin())) << target << ", " << k << " x " << n << ", " << rows;
  }
}

TEST(Mm, FewRowsAreThoseOfManyWhereverTheyMeet) {
  const std::string before(ActiveTarget());
  for (const std::string_view target : SupportedTargets()) {
    SetTarget(target);
    for (const Order order : {Order::kBlocked, Order::kSequential}) {
      // Rows that meet in the same sets of a cache, with columns that are no whole panel; and too many for a cache.
      FewRowsAreThoseOfManyFor<float>(771, 70, 512, order, std::string(target));
      FewRowsAreThoseOfManyFor<double>(300, 37, 256, order, std::string(target));
      FewRowsAreThoseOfManyFor<float>(600, 3600, 3600, order, std::string(target));
    }
  }
  SetTarget(before);
}

template <class T>
void DotsOfABatchAreThoseAlone(int64_t k, Order order, const std::string& target) {
  constexpr int64_t kBatch = 37;
  constexpr DType kType = sizeof(T) == 4 ? DType::kFloat32 : DType::kFloat64;
  constexpr T kHard[] = {T{-0.0}, std::numeric_limits<T>::denorm_min(), -std::numeric_limits<T>::max(),
                         std::numeric_limits<T>::infinity()};
  std::vector<T> a(static_cast<size_t>(kBatch * k)), b(a.size()), got(kBatch), alone(kBatch);
  for (size_t i = 0; i < a.size(); ++i) a[i] = i % 97 == 5 ? kHard[i / 97 % 3] : std::sin(static_cast<T>(i));
  for (size_t i = 0; i < b.size(); ++i) b[i] = i % 89 == 7 ? T{-0.0} : std::cos(static_cast<T>(i) * 3);
  for (int64_t i = 0; i < k; ++i) a[static_cast<size_t>(3 * k + i)] = T{-0.0};  // and a result of -0 or +0
  a[static_cast<size_t>(7 * k)] = kHard[3];
  Mm(MakeView(a.data(), kType, {kBatch, 1, k}), MakeView(b.data(), kType, {kBatch, k, 1}), false, false, order,
     MakeView(got.data(), kType, {kBatch, 1, 1}));
  for (int64_t i = 0; i < kBatch; ++i) {
    Mm(MakeView(a.data() + i * k, kType, {1, k}), MakeView(b.data() + i * k, kType, {k, 1}), false, false, order,
       MakeView(alone.data() + i, kType, {1, 1}));
  }
  EXPECT_EQ(std::memcmp(got.data(), alone.data(), kBatch * sizeof(T)), 0) << target << ", k = " << k;
}

TEST(Mm, DotsOfABatchAreThoseAlone) {
  const testing::SettingsGivenBack settings;
  for (const std::string_view target : SupportedTargets()) {
    SetTarget(target);
    for (const int threads : {1, 3}) {
      SetNumThreads(threads);
      for (const Order order : {Order::kBlocked, Order::kSequential}) {
        for (const int64_t k : {1, 3, 4, 17, 64, 255, 256, 257, 300, 511, 512, 513, 800}) {
          DotsOfABatchAreThoseAlone<float>(k, order, std::string(target));
          DotsOfABatchAreThoseAlone<double>(k, order, std::string(target));
        }
      }
    }
  }
}

}  // namespace
}  // namespace repdl

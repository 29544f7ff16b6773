// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <limits>
#include <numeric>
#include <thread>
#include <vector>

#include "base/arena.h"
#include "base/flat.h"
#include "base/parallel.h"
#include "base/sha256.h"
#include "repdl/digest.h"
#include "repdl/error.h"
#include "repdl/op.h"
#include "repdl/order.h"
#include "repdl/overlap.h"
#include "repdl/target.h"

namespace repdl {
namespace {

std::string HashOf(std::string_view text) {
  Sha256 hash;
  hash.Update(std::as_bytes(std::span(text)));
  return hash.HexDigest();
}

TEST(Sha256, GivesThePublishedVectors) {  // FIPS 180-4 examples
  EXPECT_EQ(HashOf(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(HashOf("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(HashOf("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(HashOf(std::string(1000000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, DoesNotDependOnThePieces) {
  const std::string text(1000, 'x');
  Sha256 hash;
  for (size_t at = 0, piece = 1; at < text.size(); at += piece, piece = piece * 3 % 101 + 1) {
    hash.Update(std::as_bytes(std::span(text).subspan(at, std::min(piece, text.size() - at))));
  }
  EXPECT_EQ(hash.HexDigest(), HashOf(text));
}

TEST(Digest, ReadsEveryNanAsOne) {
  const uint32_t bits[2][2] = {{0x7fc00000, 0x3f800000}, {0xffc12345, 0x3f800000}};
  float x[2][2];
  std::memcpy(x, bits, sizeof x);
  EXPECT_EQ(Digest(MakeView(x[0], {2})), Digest(MakeView(x[1], {2})));
  x[1][1] = -x[1][1];
  EXPECT_NE(Digest(MakeView(x[0], {2})), Digest(MakeView(x[1], {2})));
}

class Parallel : public ::testing::Test {
 protected:
  ~Parallel() override { SetNumThreads(saved_); }
  int saved_ = GetNumThreads();
};

TEST_F(Parallel, CallsEveryTaskOnce) {
  for (int threads : {1, 2, 3, 7}) {
    SetNumThreads(threads);
    for (int64_t n : {0, 1, 2, 1000}) {
      std::vector<std::atomic<int>> calls(static_cast<size_t>(n));
      ParallelFor(n, [&](int64_t i) { ++calls[static_cast<size_t>(i)]; });
      for (const auto& count : calls) EXPECT_EQ(count, 1);
    }
  }
}

TEST_F(Parallel, RangesCoverAll) {
  SetNumThreads(3);
  for (int64_t n : {0, 1, 11, 12, 13, 1000}) {
    std::vector<std::atomic<int>> calls(static_cast<size_t>(n));
    ParallelRanges(n, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) ++calls[static_cast<size_t>(i)];
    });
    for (const auto& count : calls) EXPECT_EQ(count, 1);
  }
}

TEST_F(Parallel, NestsAndServesManyCallers) {
  SetNumThreads(3);
  std::atomic<int> calls = 0;
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; ++t) {
    callers.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        ParallelFor(8, [&](int64_t) { ParallelFor(2, [&](int64_t) { ++calls; }); });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(calls, 4 * 50 * 8 * 2);
}

TEST_F(Parallel, ThrowsWhatATaskThrows) {
  SetNumThreads(3);
  EXPECT_THROW(ParallelFor(100, [](int64_t i) { REPDL_CHECK(i != 57, "task ", i); }), ValueError);
  std::atomic<int> calls = 0;
  ParallelFor(100, [&](int64_t) { ++calls; });
  EXPECT_EQ(calls, 100);
}

TEST_F(Parallel, WorksInAForkedChild) {
  SetNumThreads(2);
  ParallelFor(10, [](int64_t) {});
  const pid_t child = fork();
  if (child == 0) {
    std::atomic<int> calls = 0;
    ParallelFor(10, [&](int64_t) { ++calls; });
    _exit(calls == 10 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST_F(Parallel, LetsAHostPoolServe) {
  SetNumThreads(2);
  int forks = 0;
  SetParallelFor(
      [](void* pool, int64_t num_tasks, void (*task)(void*, int64_t), void* context) {
        ++*static_cast<int*>(pool);
        for (int64_t i = num_tasks; i-- > 0;) task(context, i);
      },
      &forks);
  int64_t sum = 0;
  ParallelFor(10, [&](int64_t i) { sum += i; });
  SetParallelFor(nullptr, nullptr);
  EXPECT_EQ(sum, 45);
  EXPECT_EQ(forks, 1);
}

TEST(Threads, RefuseNonsense) {
  EXPECT_THROW(SetNumThreads(0), ValueError);
  EXPECT_THROW(SetNumThreads(-3), ValueError);
  EXPECT_THROW(SetNumThreads(100000), ValueError);
}

TEST(Target, RefusesAnUnknownName) {
  EXPECT_THROW(SetTarget("avx1024"), ValueError);
  EXPECT_EQ(SupportedTargets().front(), "scalar");
}

TEST(Scratch, NestsAndReusesItsMemory) {
  float* first;
  {
    Scratch outer;
    first = outer.Get<float>(100);
    {
      Scratch inner;
      float* deep = inner.Get<float>(1 << 20);
      EXPECT_NE(deep, first);
      deep[(1 << 20) - 1] = 1;
    }
    float* second = outer.Get<float>(100);
    EXPECT_NE(second, first);
  }
  Scratch again;
  EXPECT_EQ(again.Get<float>(100), first);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % 64, 0u);
}

TEST(IntListTest, RefusesTooManyDimensions) {
  std::vector<int64_t> nine(9, 1);
  EXPECT_THROW(IntList(std::span<const int64_t>(nine)), ValueError);
  EXPECT_EQ(Name(IntList{2, 3}), "(2, 3)");
  EXPECT_EQ(Name(IntList{2}), "(2,)");
}

TEST(Flat, TellsLayoutsApart) {
  TensorView a = MakeView(static_cast<float*>(nullptr), {2, 3}), b = a;
  EXPECT_TRUE(AreFlatAlike({&a, &b}));
  a.strides = b.strides = {1, 2};
  EXPECT_TRUE(AreFlatAlike({&a, &b}));
  b.strides = {3, 1};
  EXPECT_FALSE(AreFlatAlike({&a, &b}));
  a.strides = b.strides = {4, 1};  // a gap after each row
  EXPECT_FALSE(AreFlatAlike({&a, &b}));
}

TEST(Overlap, FindsElementsThatShareMemory) {
  using List = std::vector<int64_t>;
  const auto overlap = [](const List& shape, const List& strides) { return ElementsOverlap(shape, strides); };
  EXPECT_FALSE(overlap({}, {}));
  EXPECT_FALSE(overlap({2, 3}, {3, 1}));
  EXPECT_FALSE(overlap({2, 3}, {1, 2}));
  EXPECT_FALSE(overlap({2, 3}, {-3, 1}));
  EXPECT_FALSE(overlap({1, 3}, {0, 7}));
  EXPECT_FALSE(overlap({0, 3}, {0, 0}));
  EXPECT_FALSE(overlap({2, 2}, {2, 3}));  // 0, 3, 2, 5
  EXPECT_FALSE(overlap({3, 2}, {2, 3}));  // 0, 3, 2, 5, 4, 7
  EXPECT_FALSE(overlap({3, 2}, {2, -3}));
  EXPECT_TRUE(overlap({4, 2}, {2, 6}));  // 6 is the fourth row, and the second column
  EXPECT_TRUE(overlap({4, 3}, {2, 3}));  // 6 again
  EXPECT_TRUE(overlap({2, 3}, {0, 1}));
  EXPECT_TRUE(overlap({3}, {0}));
  EXPECT_TRUE(overlap({5, 3}, {1, 1}));  // windows
  EXPECT_TRUE(overlap({5, 3}, {2, 1}));
  EXPECT_TRUE(overlap({5, 3}, {2, -1}));
  EXPECT_FALSE(overlap({5, 3}, {3, 1}));
  EXPECT_FALSE(overlap({2, 2}, {std::numeric_limits<int64_t>::max(), 1}));
}

TEST(Overlap, FindsTensorsThatShareMemory) {
  struct View {
    uintptr_t address;
    std::vector<int64_t> shape, steps;
    int64_t item_size = 4;
  };
  const auto overlap = [](const View& a, const View& b) {
    const auto of = [](const View& x) { return Strided{x.address, x.item_size, x.shape, x.steps}; };
    EXPECT_EQ(ElementsOverlap(of(a), of(b)), ElementsOverlap(of(b), of(a)));
    return ElementsOverlap(of(a), of(b));
  };
  const View rows{1000, {3, 4}, {40, 4}};  // of ten columns
  EXPECT_TRUE(overlap(rows, rows));
  EXPECT_TRUE(overlap(rows, {1012, {3, 4}, {40, 4}}));
  EXPECT_FALSE(overlap(rows, {1016, {3, 4}, {40, 4}})) << "the columns beside them";
  EXPECT_FALSE(overlap(rows, {1016, {3, 6}, {40, 4}}));
  EXPECT_TRUE(overlap(rows, {1016, {3, 7}, {40, 4}})) << "the last is the first of the next row";
  EXPECT_TRUE(overlap(rows, {1040, {3, 4}, {40, 4}}));
  EXPECT_FALSE(overlap(rows, {1120, {3, 4}, {40, 4}}));
  EXPECT_TRUE(overlap(rows, {1000, {3, 3}, {4, 40}})) << "a transpose";
  EXPECT_FALSE(overlap(rows, {1036, {3, 3}, {-4, 40}}));
  EXPECT_TRUE(overlap(rows, {1036, {7, 3}, {-4, 40}}));
  EXPECT_FALSE(overlap({1000, {50}, {8}}, {1004, {50}, {8}})) << "the others";
  EXPECT_TRUE(overlap({1000, {50}, {8}}, {1004, {50}, {12}}));
  EXPECT_TRUE(overlap({1000, {50}, {8}}, {1003, {50}, {8}, 1})) << "a byte of an element";
  EXPECT_FALSE(overlap({1000, {50}, {8}}, {1004, {50}, {8}, 1}));
  EXPECT_TRUE(overlap({1000, {50}, {8}}, {1004, {50}, {8}, 8}));
  EXPECT_TRUE(overlap(rows, {1000, {}, {}}));
  EXPECT_FALSE(overlap(rows, {1000, {0}, {4}}));
}

TEST(OrderTest, ReadsItsNames) {
  EXPECT_EQ(ParseOrder("blocked"), Order::kBlocked);
  EXPECT_EQ(ParseOrder("sequential"), Order::kSequential);
  EXPECT_THROW(ParseOrder("Blocked"), ValueError);
}

TEST(OpTable, SchemasReadAsTorchWritesThem) {
  ASSERT_NE(FindOp("mm"), nullptr);
  EXPECT_EQ(FindOp("mm")->Schema(),
            "mm(Tensor input, Tensor mat2, bool transA=False, bool transB=False, str order='blocked') -> Tensor");
  EXPECT_EQ(FindOp("sgd_step")->Schema().substr(0, 60), "sgd_step(Tensor(a!) param, Tensor grad, Tensor(b!)? momentum");
  EXPECT_EQ(FindOp("no such op"), nullptr);
}

}  // namespace
}  // namespace repdl

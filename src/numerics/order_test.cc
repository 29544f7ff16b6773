// SPDX-License-Identifier: MIT
#include "numerics/order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "numerics/power.h"

namespace repdl {
namespace {

std::string Sum(const std::string& left, const std::string& right) {
  std::string sum = "(";
  return sum.append(left).append("+").append(right).append(")");
}

/// The tree of the contract over names, as an expression.
std::string Tree(const std::vector<std::string>& chunks) {
  std::vector<std::string> waiting;
  for (size_t i = 0; i < chunks.size(); ++i) {
    std::string value = chunks[i];
    for (size_t n = i; n % 2 == 1; n /= 2) {
      value = Sum(waiting.back(), value);
      waiting.pop_back();
    }
    waiting.push_back(value);
  }
  std::string result = waiting.back();
  for (waiting.pop_back(); !waiting.empty(); waiting.pop_back()) result = Sum(waiting.back(), result);
  return result;
}

std::string Expected(int num_chunks) {
  std::vector<std::string> chunks;
  for (int i = 0; i < num_chunks; ++i) chunks.push_back(std::to_string(i));
  return Tree(chunks);
}

/// A chain over terms [begin, end): "2 3 4".
std::string ChainOf(int64_t begin, int64_t end) {
  std::string chain;
  for (int64_t k = begin; k < end; ++k) chain.append(k == begin ? "" : " ").append(std::to_string(k));
  return chain;
}

/// Writes the walk down as an expression over chains. A call that is out of place throws, or shows in the result.
class Writer {
 public:
  explicit Writer(int num_levels) : waiting_(static_cast<size_t>(num_levels), "nothing") {}

  void ParkZero(int level) { Waiting(level) = std::string(1, '0'); }
  void Chain(int64_t begin, int64_t end) { Chain(begin, end, /*resumes=*/false); }
  void Chain(int64_t begin, int64_t end, bool resumes) {
    longest_ = std::max(longest_, end - begin);
    value_ = std::exchange(held_, "");
    if (resumes == value_.empty()) throw std::logic_error("a chain resumes if and only if one is held");
    if (resumes) value_ += " ";
    value_ += ChainOf(begin, end);
  }
  void Hold() { held_ = value_; }
  void TakeIn(int level) { value_ = Sum(std::exchange(Waiting(level), "taken"), value_); }
  void Park(int level) { Waiting(level) = value_; }
  void End() { result_ = value_; }

  const std::string& result() const { return result_; }
  int64_t longest() const { return longest_; }

 private:
  std::string& Waiting(int level) { return waiting_.at(static_cast<size_t>(level)); }

  std::vector<std::string> waiting_;
  std::string value_, held_, result_ = "no result";
  int64_t longest_ = 0;
};

std::string ExpectedOf(const Chunks& chunks) {
  std::vector<std::string> chains;
  for (int64_t i = 0; i < chunks.count; ++i) chains.push_back(ChainOf(chunks.Begin(i), chunks.End(i)));
  return Tree(chains);
}

TEST(Walk, IsThatOfTheContract) {
  for (int64_t n = 0; n < 300; ++n) {
    const Chunks chunks(n, 7);
    EXPECT_EQ(chunks.count, n == 0 ? 1 : (n + 6) / 7);
    Writer writer(NumLevels(chunks.count));
    WalkChunks(chunks, writer);
    EXPECT_EQ(writer.result(), ExpectedOf(chunks));
    for (int64_t step : {1, 2, 7, 10}) {
      Writer in_steps(NumLevels(chunks.count));
      WalkSteps(chunks, step, in_steps);
      EXPECT_EQ(in_steps.result(), writer.result()) << step;
      EXPECT_LE(in_steps.longest(), step);
    }
  }
  EXPECT_EQ(ChainOf(2, 5), "2 3 4");
}

TEST(Walk, MayBeCutAnywhere) {
  constexpr int64_t kTerms = 45;
  const Chunks chunks(kTerms, 4);
  for (int64_t a = 0; a <= kTerms; ++a) {
    for (int64_t b = a + 1; b < kTerms; ++b) {
      Writer writer(NumLevels(chunks.count));
      if (a > 0) WalkSteps(chunks, {0, a}, 3, writer);
      WalkSteps(chunks, {a, b}, 3, writer);
      EXPECT_EQ(writer.result(), "no result");
      WalkSteps(chunks, {b, kTerms}, 3, writer);
      EXPECT_EQ(writer.result(), ExpectedOf(chunks)) << a << ", " << b;
    }
  }
}

TEST(Walk, ReplacesAbsentChunksByZero) {
  // Terms 0 to 9 are absent: chunks 0 and 1 wait as one zero, and the chain of chunk 2 begins with term 10.
  const Chunks chunks(22, 4);
  for (int64_t begin : {0, 8, 9, 10}) {
    Writer writer(NumLevels(chunks.count));
    WalkSteps(chunks, {begin, 15, 10}, 3, writer);
    WalkSteps(chunks, {15, 22, 10}, 3, writer);
    EXPECT_EQ(writer.result(), "((0+(10 11+12 13 14 15))+(16 17 18 19+20 21))") << begin;
  }
}

/// Chunks of 3, 0, 0, 2 and 0 terms.
struct UnevenChunks {
  static constexpr int64_t kEnds[] = {3, 3, 3, 5, 5};
  int64_t num_terms = 5, count = 5;

  int64_t Begin(int64_t index) const { return index == 0 ? 0 : kEnds[index - 1]; }
  int64_t End(int64_t index) const { return kEnds[index]; }
  int64_t IndexOf(int64_t) const { return 0; }
};

TEST(Walk, HasChunksWithoutTerms) {
  Writer writer(NumLevels(5));
  WalkSteps(UnevenChunks(), 2, writer);
  EXPECT_EQ(writer.result(), "(((0 1 2+)+(+3 4))+)");
}

/// Adds the numbers of the terms, as a kernel would: without memory of the host.
struct Adder {
  int64_t value = 0, result = -1, waiting[kMaxLevels] = {};

  constexpr void Chain(int64_t begin, int64_t end) {
    value = 0;
    for (int64_t k = begin; k < end; ++k) value += k;
  }
  constexpr void TakeIn(int level) { value += waiting[level]; }
  constexpr void Park(int level) { waiting[level] = value; }
  constexpr void End() { result = value; }
};

constexpr int64_t Total(int64_t n) {
  Adder adder;
  WalkChunks(Chunks(n, 4), adder);
  return adder.result;
}
static_assert(Total(0) == 0 && Total(1) == 0 && Total(100) == 4950, "the walk needs no library and no memory");

TEST(Tree, IsAligned) {
  // Eight chunks are the two trees of four, merged.
  EXPECT_EQ(Expected(4), "((0+1)+(2+3))");
  EXPECT_EQ(Expected(8), "(((0+1)+(2+3))+((4+5)+(6+7)))");
  EXPECT_EQ(Expected(6), "(((0+1)+(2+3))+(4+5))");
}

TEST(PowInt, IsTheRoundedPower) {
  for (double base : {0.9, 0.999, 0.5, 1.0, 0.0, 0.95, 0.9999, 0.1}) {
    for (int64_t n : {0, 1, 2, 3, 7, 100, 1200, 100000}) {
      // glibc's long double power carries eleven bits more.
      const auto expected = static_cast<double>(std::pow(static_cast<long double>(base), static_cast<long double>(n)));
      EXPECT_EQ(PowInt(base, n), expected) << base << "^" << n;
    }
  }
}

}  // namespace
}  // namespace repdl

// SPDX-License-Identifier: MIT
// Results do not depend on how operands lie in memory, or on the floating-point modes of the caller.
#include <gtest/gtest.h>

#include <cfenv>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "cpp/golden.h"
#include "cpp/relayout.h"
#include "repdl/conformance.h"

namespace repdl::testing {
namespace {

bool IsMutating(const Case& test_case) { return std::ranges::any_of(test_case.op().args, &ArgInfo::IsMutated); }

std::string DigestOf(const OpInfo& op, std::span<const Value> args) {
  std::vector<TensorView> results;
  for (size_t i = 0; i < args.size(); ++i) {
    if (op.args[i].IsMutated() && std::holds_alternative<TensorView>(args[i])) {
      results.push_back(std::get<TensorView>(args[i]));
    }
  }
  TensorMemory memory;
  const std::vector<TensorView> outputs = memory.New(op.infer(args));
  results.insert(results.end(), outputs.begin(), outputs.end());
  op.run(args, outputs);
  return Digest(results);
}

/// The digest of a case whose tensor arguments pass through a change of layout.
std::string DigestWith(const Case& test_case, Relayout::Kind kind, int order = 0) {
  std::vector<Value> args(test_case.args().begin(), test_case.args().end());
  std::deque<Relayout> layouts;
  // Tensors that an op changes must lie flat and alike.
  const bool is_flat = kind == Relayout::kMisaligned || kind == Relayout::kTransposed;
  for (Value& arg : args) {
    if (IsMutating(test_case) && !is_flat) continue;
    if (const auto* tensor = std::get_if<TensorView>(&arg)) arg = layouts.emplace_back(*tensor, kind, order).view();
  }
  return DigestOf(test_case.op(), args);
}

class Invariance : public ::testing::TestWithParam<std::string> {};

TEST_P(Invariance, OfLayout) {
  for (const GoldenLine& line : GoldenLines(GetParam())) {
    for (int kind = 0; kind < Relayout::kNumKinds; ++kind) {
      const Case test_case(line.text);
      EXPECT_EQ(DigestWith(test_case, static_cast<Relayout::Kind>(kind)), line.digest)
          << line.text << ", layout " << kind;
    }
  }
}

TEST_P(Invariance, OfTheOrderOfStrides) {
  for (const GoldenLine& line : GoldenLines(GetParam())) {
    const Case first(line.text);
    int rank = 0;
    for (const Value& arg : first.args()) {
      if (const auto* tensor = std::get_if<TensorView>(&arg)) rank = std::max(rank, tensor->rank());
    }
    int num_orders = 1;
    for (int i = 2; i <= rank; ++i) num_orders *= i;
    for (int order = 1; order < num_orders; ++order) {
      const Case test_case(line.text);
      const auto kind = IsMutating(test_case) ? Relayout::kMisaligned : static_cast<Relayout::Kind>(order % 3);
      EXPECT_EQ(DigestWith(test_case, kind, order), line.digest) << line.text << ", order " << order;
    }
  }
}

// A tensor that repeats along a dimension, by a stride of 0, gives the bits of its copy.
TEST_P(Invariance, OfStridesOfZero) {
  for (const GoldenLine& line : GoldenLines(GetParam())) {
    const Case test_case(line.text);
    if (IsMutating(test_case)) continue;
    std::vector<Value> args(test_case.args().begin(), test_case.args().end());
    for (Value& arg : args) {
      const auto* tensor = std::get_if<TensorView>(&arg);
      if (tensor == nullptr || tensor->numel() == 0) continue;
      const TensorView whole = *tensor;
      for (int dim = 0; dim < whole.rank(); ++dim) {
        TensorView repeated = whole;
        repeated.strides[dim] = 0;
        const Relayout copy(repeated, Relayout::kMisaligned);
        arg = repeated;
        const std::string digest = DigestOf(test_case.op(), args);
        arg = copy.view();
        EXPECT_EQ(digest, DigestOf(test_case.op(), args)) << line.text << ", dimension " << dim;
      }
      arg = whole;
    }
  }
}

/// Changes the sign of every NaN, and tells whether there was one.
template <class Bits>
bool TurnNaNs(const TensorView& tensor, Bits largest_number) {
  constexpr Bits kSign = Bits{1} << (8 * sizeof(Bits) - 1);
  bool any = false;
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    Bits& bits = tensor.Data<Bits>()[i];
    if (static_cast<Bits>(bits & ~kSign) <= largest_number) continue;
    bits ^= kSign;
    any = true;
  }
  return any;
}
bool TurnNaNs(const TensorView& tensor) {
  switch (tensor.dtype) {
    case DType::kFloat64: return TurnNaNs<uint64_t>(tensor, 0x7ff0000000000000u);
    case DType::kFloat32: return TurnNaNs<uint32_t>(tensor, 0x7f800000u);
    case DType::kBFloat16: return TurnNaNs<uint16_t>(tensor, 0x7f80u);
    case DType::kFloat16: return TurnNaNs<uint16_t>(tensor, 0x7c00u);
    default: return false;
  }
}

// That of inf - inf is minus on x86, and plus on Arm and GPUs; a change of sign leaves it as it is on GPUs.
TEST_P(Invariance, OfTheSignsOfNaNs) {
  for (const GoldenLine& line : GoldenLines(GetParam())) {
    Case test_case(line.text);
    bool any = false;
    for (const Value& arg : test_case.args()) {
      if (const auto* tensor = std::get_if<TensorView>(&arg)) any = TurnNaNs(*tensor) || any;
    }
    if (any) {
      EXPECT_EQ(Digest(test_case.Run()), line.digest) << line.text;
    }
  }
}

// Every machine has the modes of C; none, where it has no other than to nearest.
constexpr int kRoundingModes[] = {
    FE_TONEAREST,
#if defined(FE_UPWARD)
    FE_UPWARD,
#endif
#if defined(FE_DOWNWARD)
    FE_DOWNWARD,
#endif
#if defined(FE_TOWARDZERO)
    FE_TOWARDZERO,
#endif
};

TEST_P(Invariance, OfRoundingModes) {
  for (const int mode : kRoundingModes) {
    for (const GoldenLine& line : GoldenLines(GetParam())) {
      Case test_case(line.text);
      ASSERT_EQ(std::fesetround(mode), 0);
      const auto results = test_case.Run();
      const int after = std::fegetround();
      std::fesetround(FE_TONEAREST);
      EXPECT_EQ(after, mode) << "the caller's mode was not given back";
      EXPECT_EQ(Digest(results), line.digest) << line.text << ", mode " << mode;
    }
  }
}

#if defined(__x86_64__) || defined(__aarch64__)
// Subnormals taken for zero, as a library built with -ffast-math asks for.
class Flushing {
 public:
#if defined(__x86_64__)
  Flushing() : saved_(_mm_getcsr()) { _mm_setcsr(saved_ | kBits); }
  ~Flushing() { _mm_setcsr(saved_); }
  static bool IsOn() { return (_mm_getcsr() & kBits) == kBits; }

 private:
  static constexpr uint32_t kBits = 0x8040;  // flush to zero, denormals are zero
  uint32_t saved_;
#else
  Flushing() : saved_(Get()) { Set(saved_ | kBit); }
  ~Flushing() { Set(saved_); }
  static bool IsOn() { return (Get() & kBit) != 0; }

 private:
  static constexpr uint64_t kBit = uint64_t{1} << 24;
  static uint64_t Get() {
    uint64_t value;
    __asm__ __volatile__("mrs %0, fpcr" : "=r"(value));
    return value;
  }
  static void Set(uint64_t value) { __asm__ __volatile__("msr fpcr, %0" : : "r"(value)); }
  uint64_t saved_;
#endif
};

TEST_P(Invariance, OfFlushingToZero) {
  for (const GoldenLine& line : GoldenLines(GetParam())) {
    Case test_case(line.text);
    std::vector<TensorView> results;
    {
      const Flushing flushing;
      results = test_case.Run();
      EXPECT_TRUE(Flushing::IsOn()) << "the caller's mode was not given back";
    }
    EXPECT_EQ(Digest(results), line.digest) << line.text;
  }
}
#endif

INSTANTIATE_TEST_SUITE_P(Ops, Invariance, ::testing::ValuesIn(GoldenOps()),
                         [](const auto& param) { return param.param; });

}  // namespace
}  // namespace repdl::testing

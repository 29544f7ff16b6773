// SPDX-License-Identifier: MIT
// Elementwise functions on a device against those of the CPU, which are proven (tools/prove): float32 for all inputs,
// and float64, and functions of two numbers, for many. REPDL_EVERY_INPUT=N takes a part in N of the inputs.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/device_tensor.h"
#include "base/op_registry.h"
#include "base/parallel.h"
#include "cuda/digest_on_device.h"
#include "cuda/patterns.h"
#include "functions.h"
#include "repdl/op.h"

namespace repdl::testing {
namespace {

using Kind = reference::Function::Kind;

constexpr int64_t kCount = int64_t{1} << 26;

int64_t EveryNth() {
  const char* const text = std::getenv("REPDL_EVERY_INPUT");
  return text == nullptr ? 1 : std::max(std::atoll(text), 1LL);
}

/// A function at kCount patterns, on the CPU or the device, with memory for them.
template <class Bits>
class Batch {
 public:
  explicit Batch(const reference::Function& function)
      : function_(function),
        op_(*FindOp(function.name)),
        dtype_(sizeof(Bits) == 8 ? DType::kFloat64 : DType::kFloat32) {
    for (auto* bits : {&x_, &y_, &result_}) bits->resize(kCount);
    one_ = sizeof(Bits) == 8 ? static_cast<Bits>(0x3ff0000000000000u) : 0x3f800000u;
  }

  /// True if the CPU and the device give the same; else says where they do not.
  bool IsSame(const Patterns& x, const Patterns& y) {
    const DeviceTensor one(View(&one_, 1), 0), first(View(x_), 0), second(View(y_), 0), result(View(result_), 0);
    MustCuda(cudaMemcpy(one.view().data, &one_, sizeof one_, cudaMemcpyHostToDevice));
    FillOnDevice(first.view(), x);
    FillOnDevice(second.view(), y);
    Run(one.view(), first.view(), second.view(), result.view());
    const uint64_t got = ChecksumOnDevice(result.view());
    std::atomic<uint64_t> expected = 0;
    Fill(x_, x);
    if (function_.kind == Kind::kBinary) Fill(y_, y);
    Run(View(&one_, 1), View(x_), View(y_), View(result_));
    ParallelRanges(kCount, kGrain, [&](int64_t begin, int64_t end) {
      uint64_t own = 0;
      for (int64_t i = begin; i < end; ++i) own += TermOf(result_[static_cast<size_t>(i)], i);
      expected += own;
    });
    if (got == expected) return true;
    std::vector<Bits> on_device(kCount);
    result.CopyTo(View(on_device));
    for (size_t i = 0; i < kCount; ++i) {
      if (CanonicalOf(on_device[i]) == CanonicalOf(result_[i])) continue;
      ADD_FAILURE() << function_.name << " of the bits 0x" << std::hex << x_[i] << ", 0x" << y_[i] << " is 0x"
                    << on_device[i] << " on the device and 0x" << result_[i] << " on the CPU";
      return false;
    }
    ADD_FAILURE() << function_.name << ": the checksums differ, and no number does";
    return false;
  }

 private:
  static constexpr int64_t kGrain = 16384;

  TensorView View(Bits* data, int64_t count) { return MakeView(data, dtype_, {count}); }
  TensorView View(std::vector<Bits>& bits) { return View(bits.data(), kCount); }

  void Fill(std::vector<Bits>& to, const Patterns& patterns) {
    ParallelRanges(kCount, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) to[static_cast<size_t>(i)] = patterns.Of(Bits{}, i);
    });
  }

  void Run(const TensorView& one, const TensorView& x, const TensorView& y, const TensorView& result) {
    std::vector<TensorView> tensors;
    if (function_.kind == Kind::kDerivative) tensors.push_back(one);
    tensors.push_back(x);
    if (function_.kind == Kind::kBinary) tensors.push_back(y);
    std::vector<Value> args;
    auto next = tensors.begin();
    for (const ArgInfo& arg : op_.args) {
      args.push_back(arg.IsTensor() && next != tensors.end() ? Value(*next++) : arg.default_value.value());
    }
    op_.run(args, std::vector<TensorView>{result});
  }

  const reference::Function& function_;
  const OpInfo& op_;
  DType dtype_;
  Bits one_;
  std::vector<Bits> x_, y_, result_;
};

bool Takes(const OpInfo& op, DType dtype) {
  double number = 0;
  std::vector<Value> args;
  for (const ArgInfo& arg : op.args) {
    args.push_back(arg.default_value ? *arg.default_value : Value(MakeView(&number, dtype, {1})));
  }
  try {
    op.infer(args);
    return true;
  } catch (const TypeError&) {
    return false;
  }
}

class EveryInput : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (CudaDevices().empty()) GTEST_SKIP() << "no CUDA device";
  }
};

TEST_P(EveryInput, GivesWhatTheCpuGivesForEveryInput) {
  const reference::Function& function = *reference::FindFunction(GetParam());
  const OpInfo& op = *FindOp(GetParam());
  constexpr uint64_t kSome = 2;
  if (Takes(op, DType::kFloat32)) {
    Batch<uint32_t> batch(function);
    const bool all = function.kind != Kind::kBinary;
    const auto step = static_cast<uint64_t>(EveryNth());
    for (uint64_t number = 0; number < (all ? (uint64_t{1} << 32) / kCount : kSome); number += all ? step : 1) {
      const uint64_t first = number * kCount;
      if (!batch.IsSame({first, all ? 0u : 1u}, {first, 2})) break;
    }
  }
  if (Takes(op, DType::kFloat64)) {
    Batch<uint64_t> batch(function);
    batch.IsSame({0, 1}, {0, 2});
  }
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const reference::Function& function : reference::Functions()) {
    const OpInfo* const op = FindOp(function.name);
    if (op != nullptr && op->HasCuda()) names.emplace_back(function.name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Functions, EveryInput, ::testing::ValuesIn(Names()),
                         [](const auto& param) { return param.param; });

}  // namespace
}  // namespace repdl::testing

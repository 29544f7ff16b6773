// SPDX-License-Identifier: MIT
#include "targets.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <fstream>

#include "base/parallel.h"
#include "device_memory.h"
#include "expected.h"
#include "repdl/cuda.h"
#include "repdl/error.h"
#include "repdl/target.h"

namespace repdl::prove {
namespace {

using Kind = reference::Function::Kind;

std::string Processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

std::string Compiler() {
#ifdef __clang__
  return "Clang " + std::to_string(__clang_major__) + "." + std::to_string(__clang_minor__);
#else
  return "GCC " + std::to_string(__GNUC__) + "." + std::to_string(__GNUC_MINOR__);
#endif
}

/// The arguments of the op: its tensors, and its other arguments as they are by default.
std::vector<Value> ArgumentsOf(const OpInfo& op, std::vector<TensorView> tensors) {
  std::vector<Value> values;
  auto next = tensors.begin();
  for (const ArgInfo& arg : op.args) {
    if (arg.IsTensor() && next != tensors.end()) {
      values.emplace_back(*next++);
    } else if (arg.default_value) {
      values.push_back(*arg.default_value);
    }
  }
  if (values.size() != op.args.size()) throw ValueError(Message("[", op.name, "] does not take these arguments"));
  return values;
}

/// The patterns as elements, and a place for so many.
class Memory {
 public:
  Memory(const std::vector<uint32_t>& patterns, DType dtype) : dtype_(dtype), size_(patterns.size()) {
    if (dtype == DType::kFloat32) {
      words_ = patterns;
    } else {
      halves_.assign(patterns.begin(), patterns.end());
    }
  }
  TensorView View() {
    void* data = dtype_ == DType::kFloat32 ? static_cast<void*>(words_.data()) : halves_.data();
    return MakeView(data, dtype_, {static_cast<int64_t>(size_)});
  }
  uint32_t operator[](int64_t i) const { return dtype_ == DType::kFloat32 ? words_[i] : halves_[i]; }

 private:
  DType dtype_;
  size_t size_;
  std::vector<uint32_t> words_;
  std::vector<uint16_t> halves_;
};

}  // namespace

std::vector<Target> Targets() {
  std::vector<Target> targets;
  const std::vector<std::string> devices = CudaDevices();
  if (!devices.empty()) targets.push_back({"cuda:0", true, devices[0], CudaCompiler()});
  const std::vector<std::string_view> names = SupportedTargets();
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    targets.push_back({std::string(*name), false, Processor(), Compiler()});
  }
  return targets;
}

bool Takes(const OpInfo& op, const reference::Function& function, DType dtype) {
  float element = 0;
  const TensorView tensor = MakeView(&element, dtype, {1});
  try {
    op.infer(ArgumentsOf(op, std::vector<TensorView>(function.kind == Kind::kUnary ? 1 : 2, tensor)));
    return true;
  } catch (const TypeError&) {
    return false;
  }
}

void Evaluate(const OpInfo& op, const reference::Function& function, DType dtype, const Target& target,
              const Batch& batch, std::vector<uint32_t>& bits) {
  if (dtype == DType::kFloat32 && !target.cuda) {  // no copies
    bits.resize(batch.first.size());
    float one = 1.0f;
    const auto view = [&](const void* data, int64_t size) {
      return MakeView(const_cast<void*>(data), DType::kFloat32, {size});
    };
    std::vector<TensorView> operands = {view(batch.first.data(), batch.size())};
    if (function.kind == Kind::kDerivative) operands.insert(operands.begin(), view(&one, 1));
    if (function.kind == Kind::kBinary) operands.push_back(view(batch.second.data(), batch.size()));
    SetTarget(target.name);
    op.run(ArgumentsOf(op, operands), std::vector<TensorView>{view(bits.data(), batch.size())});
    ParallelRanges(batch.size(), 16384, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) bits[i] = CanonicalBits(std::bit_cast<float>(bits[i]));
    });
    return;
  }
  Memory first(batch.first, dtype), second(batch.second, dtype);
  Memory result(std::vector<uint32_t>(batch.first.size(), 0), dtype);
  Memory one({OneOf(dtype)}, dtype);
  std::vector<TensorView> operands = {first.View()};
  if (function.kind == Kind::kDerivative) operands.insert(operands.begin(), one.View());
  if (function.kind == Kind::kBinary) operands.push_back(second.View());
  if (target.cuda) {
    RunOnDevice(operands, result.View(), [&](const std::vector<TensorView>& inputs, const TensorView& output) {
      op.run(ArgumentsOf(op, inputs), std::vector<TensorView>{output});
    });
  } else {
    SetTarget(target.name);
    op.run(ArgumentsOf(op, operands), std::vector<TensorView>{result.View()});
  }
  bits.resize(batch.first.size());
  ParallelRanges(batch.size(), 16384, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) bits[i] = CanonicalBits(ValueOf(result[i], dtype));
  });
}

void EvaluateDoubles(const OpInfo& op, const reference::Function& function, const Target& target,
                     const std::vector<double>& x, const std::vector<double>& y, std::vector<double>& out) {
  const double one = 1.0;
  const auto view = [](const double* data, size_t size) {
    return MakeView(const_cast<double*>(data), DType::kFloat64, {static_cast<int64_t>(size)});
  };
  std::vector<TensorView> operands = {view(x.data(), x.size())};
  if (function.kind == Kind::kDerivative) operands.insert(operands.begin(), view(&one, 1));
  if (function.kind == Kind::kBinary) operands.push_back(view(y.data(), y.size()));
  const TensorView result = view(out.data(), out.size());
  const auto run = [&](const std::vector<TensorView>& inputs, const TensorView& output) {
    op.run(ArgumentsOf(op, inputs), std::vector<TensorView>{output});
  };
  if (target.cuda) {
    RunOnDevice(operands, result, run);
  } else {
    SetTarget(target.name);
    run(operands, result);
  }
}

}  // namespace repdl::prove

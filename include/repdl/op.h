// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "repdl/tensor.h"

// The ops as a table: what the Python module, the conformance cases and the documents are built from.

namespace repdl {

/// One argument of an op, boxed; monostate is Python's None.
using Value = std::variant<std::monostate, TensorView, bool, int64_t, double, IntList, std::string_view>;

struct ArgInfo {
  std::string_view name;
  std::string_view type;  // as in a PyTorch schema: "Tensor", "Tensor?", "Tensor(a!)", "int[2]", …
  std::optional<Value> default_value;
  std::string_view default_text;  // as in a PyTorch schema; empty without a default

  bool IsTensor() const { return type.starts_with("Tensor"); }
  bool IsMutated() const { return type.starts_with("Tensor(") || type.starts_with("Tensor!"); }
  bool IsOptional() const { return type.ends_with('?'); }
};

inline constexpr int kMaxOutputs = 4;
inline constexpr int kMaxArgs = 24;

/// The outputs of an op, before they exist.
struct Specs {
  Specs() = default;
  /// ValueError for sizes that are negative or whose product overflows.
  Specs(std::initializer_list<TensorSpec> list);
  Specs OfBatch(int num_dims) const {
    Specs specs = *this;
    specs.num_batch_dims = num_dims;
    return specs;
  }

  int size = 0;
  std::array<TensorSpec, kMaxOutputs> spec;
  /// How many of the first dimensions of the outputs, and of the inputs that have as many as the first, only put calls of the
  /// op side by side.
  int num_batch_dims = 0;
};

/// A kernel for one type of arguments. Its functions take a Place and the arguments; which they are only the kernel knows.
struct KernelInfo {
  std::string_view name;  // "MmKernel(MmArgs)"
  /// Whether there is a version for CUDA, and how one is put there, from a library that was loaded later.
  bool (*has_cuda)();
  void (*set_cuda)(void (*function)());
  void (*on_cpu)();
};

struct OpInfo {
  std::string_view name;
  std::vector<ArgInfo> args;
  int num_outputs = 0;
  /// Of the tensors that are computed with; tensors of indices or masks have types of their own.
  DTypes dtypes = kFloat32Only;
  /// What `run` calls.
  std::vector<KernelInfo> kernels;

  /// Checks the arguments and says what the outputs are. Reads shapes and dtypes, never data.
  Specs (*infer)(std::span<const Value> args) = nullptr;
  /// Fills outputs that were made as `infer` says.
  void (*run)(std::span<const Value> args, std::span<const TensorView> outputs) = nullptr;

  /// "mm(Tensor input, Tensor mat2, …) -> Tensor", as torch.library.define reads it.
  std::string Schema() const;
  /// The argument with this name or nullptr.
  const ArgInfo* FindArg(std::string_view arg_name) const;
  /// Whether every kernel has a version for CUDA.
  bool HasCuda() const;
};

/// Every op of the library, sorted by name.
std::span<const OpInfo> AllOps();

/// The op with this name, of the library or loaded by LoadOps, or nullptr.
const OpInfo* FindOp(std::string_view name);

}  // namespace repdl

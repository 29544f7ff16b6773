// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "override_call.h"
#include "torch_value.h"

// Calls of torch's dispatcher that are done without Python and its lock, which take longer than a small op.

namespace repdl {

/// The arguments of an overload of torch's; those from `num_positional` on Python functions take by their names.
struct TorchSignature {
  std::vector<TorchArgument> arguments;
  size_t num_positional;
};

/// How many arguments a Python function is given by their places: a default at their end is left out.
size_t CountPositional(const TorchSignature& signature, std::span<const TorchValue> given);

/// What becomes of each argument.
struct DirectPlan {
  enum class Use { kParameter, kConstant, kOut, kGenerator, kNothing };
  struct Step {
    Use use = Use::kNothing;
    size_t at = 0;  // of the parameter
    const Constant* constant = nullptr;
    Value equal;                          // what a constant equals
    std::vector<std::string_view> names;  // what the op calls a number
  };
  std::vector<Step> steps;
  size_t target = 0;  // where the tensor for the result is among the arguments, if one is given
};

/// None for an override of which no call is done so.
std::optional<DirectPlan> MakeDirectPlan(const OverrideCallable& function, const TorchSignature& signature);

/// What a call gives: handles of new tensors, or the tensor of an argument.
struct DirectResults {
  DirectResults() = default;
  DirectResults(const DirectResults&) = delete;
  ~DirectResults();

  std::array<TensorHandle, kMaxOutputs> made{};
  std::optional<size_t> argument;
};

/// Does a call, if it is an ordinary one. It leaves the arguments as they are.
bool CallDirectly(const OverrideCallable& function, const TorchSignature& signature, const DirectPlan& plan,
                  std::span<TorchValue> given, size_t num_results, DirectResults& results);

}  // namespace repdl

// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// Kernels in torch's dispatcher of which ordinary calls are done without Python. What torch puts before a kernel in Python,
// which takes Python's lock and makes a tuple and a dictionary of the arguments, takes longer than a small op.

namespace repdl {

/// Says where torch has torch::Library::_impl and what SetValueFunctions takes; and an address in the library that puts
/// Python functions into the dispatcher.
void SetKernelFunctions(const std::vector<uintptr_t>& functions, uintptr_t in_python);

/// Calls `put`, with which torch puts a Python function in the place of the kernel of an overload, "exp.out", and lets calls
/// that are ordinary be done before it. `arguments` has the type, the name or None for one that the function takes by
/// its place, and the default or Ellipsis, of each argument of the schema; all results are tensors. `native` is torch's own
/// kernel, a torch._C._SafeKernelFunction, where it is called for integers, or None. Nothing more than `put` is done without
/// it for functions that MakeOverrideCallable did not give, for types of arguments that are not read here, and where torch's
/// functions cannot be replaced.
void PutKernel(const std::string& name, const nanobind::object& function, const nanobind::list& arguments,
               size_t num_results, const nanobind::object& native, const nanobind::object& put);

}  // namespace repdl

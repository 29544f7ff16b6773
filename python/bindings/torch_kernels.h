// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>
#include <vector>

// Kernels in torch's dispatcher by its stable C interface. What torch puts before a kernel in Python, which makes a
// tuple and a dictionary of the arguments, takes longer than a small op.

namespace repdl {

/// Says where torch has functions of that interface: aoti_torch_library_init_impl, torch_library_impl,
/// aoti_torch_delete_library_object, and behind these what SetWordFunctions takes.
void SetKernelFunctions(const std::vector<uintptr_t>& functions);

/// Kernels of a namespace at a dispatch key, until `End`. `file` is what the dispatcher names as their origin.
class TorchKernels {
 public:
  TorchKernels(const std::string& name_space, const std::string& key, std::string file);

  /// Puts a function in the place of the kernel of an overload, "exp.out". `arguments` has its type, its name or None for
  /// one that the function takes by its place, and its default or Ellipsis, of each argument of the schema; all results
  /// are tensors. Ordinary calls of few numbers are done without Python. False, and nothing is changed, for functions
  /// that MakeOverrideCallable did not give, and for types of arguments that torch's interface does not take.
  bool Put(const std::string& name, const nanobind::object& function, const nanobind::list& arguments);

  void End();

 private:
  std::string file_;
  void* library_ = nullptr;
};

}  // namespace repdl

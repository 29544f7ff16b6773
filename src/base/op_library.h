// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/cpu_target.h"
#include "repdl/op.h"
#include "repdl/version.h"

// What the library and a shared library of ops from outside of the tree know of each other. The latter has its own copy
// of the code that its ops need, but no threads and no settings: it asks the library that has loaded it.

namespace repdl::internal {

struct OpHost {
  int (*active_target_index)();
  int (*num_threads)();
  void* (*current_cuda_stream)();
  void (*run_tasks)(int64_t num_tasks, void (*task)(void*, int64_t), void* context);
};

/// The first member stays the first, so that every version can read it.
struct OpLibrary {
  const char* built_for;
  void (*set_host)(const OpHost& host);
  std::span<const OpInfo> (*ops)();
};

#define REPDL_TARGET_LABEL(target_namespace, label) " " label
/// On both sides the same, or else they do not fit: the classes that pass between them have no stable layout.
inline constexpr char kBuiltFor[] =
    "version " REPDL_VERSION " and the CPU targets" REPDL_FOR_EACH_TARGET(REPDL_TARGET_LABEL);
#undef REPDL_TARGET_LABEL

/// Enters ops in the table; they live as long as the process.
void AddOps(std::span<const OpInfo> ops);

}  // namespace repdl::internal

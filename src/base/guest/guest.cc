// SPDX-License-Identifier: MIT
// Compiled into each shared library of ops from outside of the tree, in the place of parallel.cc and cpu_target.cc.
#include "base/op_library.h"
#include "base/parallel.h"
#include "base/place.h"

namespace repdl {
namespace internal {
namespace {

OpHost host;

void SetHost(const OpHost& the_host) { host = the_host; }

}  // namespace

int ActiveTargetIndex() { return host.active_target_index(); }

void* CurrentCudaStream() { return host.current_cuda_stream(); }

void RunTasks(int64_t num_tasks, void (*task)(void*, int64_t), void* context) {
  host.run_tasks(num_tasks, task, context);
}

}  // namespace internal

int GetNumThreads() { return internal::host.num_threads(); }

}  // namespace repdl

extern "C" __attribute__((visibility("default"))) const repdl::internal::OpLibrary repdl_op_library = {
    repdl::internal::kBuiltFor, &repdl::internal::SetHost, &repdl::AllOps};

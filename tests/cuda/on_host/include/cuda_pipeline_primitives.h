// SPDX-License-Identifier: MIT
// Stands in the place of CUDA's header: copies to shared memory that a thread waits for later.
#pragma once

#include <cuda_runtime.h>

/// Copies the first size - zeros bytes and puts zeros after them.
inline void __pipeline_memcpy_async(void* to, const void* from, size_t size, size_t zeros = 0) {
  repdl::on_host::CopyAsync(to, from, size - zeros, zeros);
}
inline void __pipeline_commit() { repdl::on_host::CommitCopies(); }
inline void __pipeline_wait_prior(size_t all_but) { repdl::on_host::WaitForCopies(all_but); }

// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace repdl {

/// Number of threads that work on one op. It never changes a bit.
/// Default: OMP_NUM_THREADS if that is a positive number, else the cores this process may use.
int GetNumThreads();

/// Sets the number of threads; throws ValueError unless 1 <= n <= 1024.
void SetNumThreads(int n);

/// A thread pool: calls task(i) once for every i in [0, num_tasks), in any order, on any threads,
/// and returns when all are done. Tasks do not throw and do not wait for one another.
using ParallelForFn = void (*)(void* pool, int64_t num_tasks, void (*task)(void* context, int64_t i), void* context);

/// Makes a host program's pool serve the library; a null function brings the own pool back.
/// An op that runs meanwhile may still fork on the pool that was set before.
void SetParallelFor(ParallelForFn parallel_for, void* pool);

}  // namespace repdl

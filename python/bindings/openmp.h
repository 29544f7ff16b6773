// SPDX-License-Identifier: MIT
#pragma once

namespace repdl {

/// Lets the threads of the OpenMP runtime that the process has loaded (torch's) run the library's tasks: two pools
/// whose threads wait busily would take each other's cores. Returns whether there is one with GNU's entry point.
/// A forked child goes back to the library's own pool, or begins with it: GNU's does not survive a fork.
bool ShareOpenMp();

/// Sets how many threads a parallel region that the calling thread begins may have, and returns how many it was; does
/// nothing where there is no OpenMP runtime.
int SetOpenMpThreads(int count);

}  // namespace repdl

// SPDX-License-Identifier: MIT
#pragma once

namespace repdl::bench {

/// Every op of the registry over the cases of its golden file, named by the text of the case.
void RegisterOps();

/// "sum/<axis>/<size>/repdl" and "sum/<axis>/<size>/plain": the bandwidth of sums on one thread.
void RegisterSums();

}  // namespace repdl::bench

// SPDX-License-Identifier: MIT
#pragma once

namespace repdl::bench {

/// "function/<op>/<size>/repdl" and "function/<op>/<size>/Sleef": each elementwise op on one thread, in numbers a second.
void RegisterFunctions();

/// Every op of the registry over the cases of its golden file, named by the text of the case.
void RegisterOps();

/// "sum/<axis>/<size>/repdl" and "sum/<axis>/<size>/plain": the bandwidth of sums on one thread.
void RegisterSums();

}  // namespace repdl::bench

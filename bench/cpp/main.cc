// SPDX-License-Identifier: MIT
//
//     repdl_bench --benchmark_filter='^mm\('             one op
//     repdl_bench --benchmark_filter='^sum/'             sums against a plain sum
//     repdl_bench --benchmark_filter='^function/exp/'    a function against Sleef's
//
// REPDL_TARGET chooses the CPU target and OMP_NUM_THREADS the threads of the ops.
#include <benchmark/benchmark.h>

#include <string>

#include "register.h"
#include "repdl/target.h"
#include "repdl/threads.h"

int main(int argc, char** argv) {
  repdl::bench::RegisterFunctions();
  repdl::bench::RegisterOps();
  repdl::bench::RegisterSums();
  benchmark::AddCustomContext("repdl_target", std::string(repdl::ActiveTarget()));
  benchmark::AddCustomContext("repdl_threads", std::to_string(repdl::GetNumThreads()));
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}

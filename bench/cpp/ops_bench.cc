// SPDX-License-Identifier: MIT
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "cpp/golden.h"
#include "register.h"
#include "repdl/conformance.h"

namespace repdl::bench {
namespace {

/// Times the op alone: operands and outputs are made before. An op that changes its operands goes on with
/// what it made of them.
void RunCase(benchmark::State& state, const std::string& text) {
  const Case op_case(text);
  const OpInfo& op = op_case.op();
  TensorMemory memory;
  const std::vector<TensorView> outputs = memory.New(op.infer(op_case.args()));
  for (auto _ : state) {
    op.run(op_case.args(), outputs);
    benchmark::ClobberMemory();
  }
}

}  // namespace

void RegisterOps() {
  for (const OpInfo& op : AllOps()) {
    for (const testing::GoldenLine& line : testing::GoldenLines(std::string(op.name))) {
      benchmark::RegisterBenchmark(line.text.c_str(), [line](benchmark::State& state) { RunCase(state, line.text); });
    }
  }
}

}  // namespace repdl::bench

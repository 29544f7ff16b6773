// SPDX-License-Identifier: MIT
#include <benchmark/benchmark.h>

#include <array>
#include <fstream>
#include <string>
#include <vector>

#include "register.h"
#include "repdl/conformance.h"
#include "repdl/error.h"

namespace repdl::bench {
namespace {

/// The texts of the cases of an op: "<digest>  <case>" in each line of its golden file.
std::vector<std::string> CasesOf(const OpInfo& op) {
  std::ifstream file(Message(REPDL_GOLDEN_DIR, "/", op.name, ".txt"));
  std::vector<std::string> cases;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with('#')) cases.push_back(line.substr(line.find("  ") + 2));
  }
  return cases;
}

/// Times the op alone: operands and outputs are made before. An op that changes its operands goes on with
/// what it made of them.
void RunCase(benchmark::State& state, const std::string& text) {
  const Case op_case(text);
  const OpInfo& op = op_case.op();
  const Specs specs = op.infer(op_case.args());
  std::array<TensorView, kMaxOutputs> outputs;
  std::array<std::vector<std::byte>, kMaxOutputs> memory;
  for (int i = 0; i < specs.size; ++i) {
    outputs[i] = MakeView(nullptr, specs.spec[i].dtype, specs.spec[i].shape);
    memory[i].resize(static_cast<size_t>(outputs[i].numel() * ItemSize(outputs[i].dtype)));
    outputs[i].data = memory[i].data();
  }
  const std::span<const TensorView> results(outputs.data(), static_cast<size_t>(specs.size));
  for (auto _ : state) {
    op.run(op_case.args(), results);
    benchmark::ClobberMemory();
  }
}

}  // namespace

void RegisterOps() {
  for (const OpInfo& op : AllOps()) {
    for (const std::string& text : CasesOf(op)) {
      benchmark::RegisterBenchmark(text.c_str(), [text](benchmark::State& state) { RunCase(state, text); });
    }
  }
}

}  // namespace repdl::bench

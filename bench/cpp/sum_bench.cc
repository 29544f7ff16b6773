// SPDX-License-Identifier: MIT
#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "plain_sum.h"
#include "register.h"
#include "repdl/error.h"
#include "repdl/ops/sum.h"
#include "repdl/threads.h"

namespace repdl::bench {
namespace {

/// Keeps vectors of numbers aligned as frameworks align theirs.
struct alignas(64) Line {
  float x[16];
};

struct Shape {
  std::string_view size;
  int64_t rows, cols;
};
// L2, L3 and memory of most machines.
constexpr Shape kShapes[] = {{"128KiB", 128, 256}, {"512KiB", 256, 512}, {"8MiB", 1024, 2048}, {"128MiB", 4096, 8192}};

/// Times `sum(x, out)`, which leaves `sums` numbers, on one thread and reports the bytes that it reads in a second.
template <class Sum>
void RunSum(benchmark::State& state, const Shape& shape, int64_t sums, const Sum& sum) {
  const int threads = GetNumThreads();
  SetNumThreads(1);
  const int64_t numel = shape.rows * shape.cols;
  std::vector<Line> lines(static_cast<size_t>((numel + sums) / 16 + 1));
  float* const x = reinterpret_cast<float*>(lines.data());
  float* const out = x + numel;
  std::fill_n(x, numel, 1.0f);
  for (auto _ : state) {
    sum(x, out);
    benchmark::ClobberMemory();
  }
  // Sums of ones are exact in any order.
  if (out[sums - 1] != static_cast<float>(numel / sums)) state.SkipWithError("the sum is wrong");
  state.SetBytesProcessed(state.iterations() * numel * static_cast<int64_t>(sizeof(float)));
  SetNumThreads(threads);
}

/// The library sums over `dim` and leaves `kept`; `plain` does the same to a matrix of `plain_rows` rows.
template <class Plain>
void RegisterSum(std::string_view axis, const Shape& shape, const IntList& dim, const IntList& kept, const Plain& plain,
                 int64_t plain_rows) {
  const int64_t sums = kept.size() == 0 ? 1 : kept[0];
  const std::string name = Message("sum/", axis, "/", shape.size, "/");
  benchmark::RegisterBenchmark((name + "repdl").c_str(), [=](benchmark::State& state) {
    RunSum(state, shape, sums, [&](const float* x, float* out) {
      Sum(MakeView(x, {shape.rows, shape.cols}), dim, /*keepdim=*/false, /*average=*/false, Order::kBlocked,
          MakeView(out, kept));
    });
  });
  benchmark::RegisterBenchmark((name + "plain").c_str(), [=](benchmark::State& state) {
    const int64_t plain_cols = shape.rows * shape.cols / plain_rows;
    RunSum(state, shape, sums, [&](const float* x, float* out) { plain(Place(), {x, plain_rows, plain_cols, out}); });
  });
}

}  // namespace

void RegisterSums() {
  for (const Shape& shape : kShapes) {
    RegisterSum("rows", shape, {1}, {shape.rows}, PlainSumRows, shape.rows);
    RegisterSum("columns", shape, {0}, {shape.cols}, PlainSumColumns, shape.rows);
    RegisterSum("all", shape, {0, 1}, {}, PlainSumRows, 1);
  }
}

}  // namespace repdl::bench

// SPDX-License-Identifier: MIT
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "register.h"
#include "repdl/error.h"
#include "repdl/ops/elementwise.h"
#include "repdl/threads.h"
#include "sleef_functions.h"

#ifdef REPDL_BENCH_HAS_SLEEF
#include <sleef.h>
#endif

namespace repdl::bench {
namespace {

struct Function {
  std::string_view op;
  int operands;
  FunctionRun run;
};
constexpr Function kFunctions[] = {
#define REPDL_UNARY(op, Function, Lanes, dtypes) \
  {#op, 1, [](const float* x, const float*, float* out, int64_t n) { Function(MakeView(x, {n}), MakeView(out, {n})); }},
#define REPDL_BINARY(op, Function, Lanes, dtypes, first, second)       \
  {#op, 2, [](const float* x, const float* y, float* out, int64_t n) { \
     Function(MakeView(x, {n}), MakeView(y, {n}), MakeView(out, {n})); \
   }},
#include "repdl/ops/elementwise.def"
#undef REPDL_UNARY
#undef REPDL_BINARY
};

/// Operands are drawn evenly from (low, high].
struct Range {
  float low, high;
};
constexpr Range kUsual = {-10, 10}, kPositive = {0, 100}, kSine = {-1, 1};
struct Domain {
  std::string_view op;
  Range first, second = kUsual;
};
constexpr Domain kDomains[] = {
    {"acos", kSine},
    {"acosh", {1, 100}},
    {"asin", kSine},
    {"atanh", kSine},
    {"erf", {-4, 4}},
    {"erfc", {-4, 4}},
    {"erfinv", kSine},
    {"log", kPositive},
    {"log10", kPositive},
    {"log1p", kPositive},
    {"log2", kPositive},
    {"pow", {0, 10}, {-5, 5}},
    {"rsqrt", kPositive},
    {"sigmoid_grad", kUsual, {0, 1}},
    {"sqrt", kPositive},
    {"tanh_grad", kUsual, kSine},
    {"xlogy", kUsual, kPositive},
};

Domain DomainOf(std::string_view op) {
  const auto* const found = std::ranges::find(kDomains, op, &Domain::op);
  return found == std::end(kDomains) ? Domain{op, kUsual} : *found;
}

/// Aligned as frameworks align theirs, and kept: new memory is slow when it is first touched.
class Array {
 public:
  float* Resize(int64_t n) {
    lines_.resize(std::max(lines_.size(), static_cast<size_t>((n + 15) / 16)));
    return reinterpret_cast<float*>(lines_.data());
  }

  const float* Fill(int64_t n, const Range& range) {
    constexpr int64_t kPeriod = 65536;
    float* const x = Resize(n);
    std::minstd_rand random;
    std::uniform_real_distribution<float> unit(0.0f, 1.0f);
    std::generate_n(x, std::min(n, kPeriod), [&] { return range.high - (range.high - range.low) * unit(random); });
    for (int64_t i = kPeriod; i < n; ++i) x[i] = x[i - kPeriod];
    return x;
  }

 private:
  struct alignas(64) Line {
    float x[16];
  };
  std::vector<Line> lines_;
};

/// A peer that computes something else is no peer.
bool Agree(const float* a, const float* b, int64_t n) {
  return std::equal(a, a + n, b, [](float p, float q) {
    return p == q || (std::isnan(p) && std::isnan(q)) || std::fabs(p - q) <= 1e-6f * std::fabs(p);
  });
}

/// Times `run` on one thread and reports the elements that it computes in a second. The label says the ranges.
void RunFunction(benchmark::State& state, const Function& function, FunctionRun run, int64_t n) {
  static Array first, second, output;
  const int threads = GetNumThreads();
  SetNumThreads(1);
  const Domain domain = DomainOf(function.op);
  const float* const x = first.Fill(n, domain.first);
  const float* const y = function.operands == 2 ? second.Fill(n, domain.second) : nullptr;
  float* const out = output.Resize(n);
  for (auto _ : state) {
    run(x, y, out, n);
    benchmark::ClobberMemory();
  }
  constexpr int64_t kChecked = 4096;
  float expected[kChecked];
  function.run(x, y, expected, kChecked);
  if (!Agree(expected, out, kChecked)) state.SkipWithError("the results differ");
  const auto text = [](const Range& range) { return Message("[", range.low, ", ", range.high, "]"); };
  state.SetLabel(text(domain.first) + (function.operands == 2 ? ", " + text(domain.second) : ""));
  state.SetItemsProcessed(state.iterations() * n);
  SetNumThreads(threads);
}

}  // namespace

void RegisterFunctions() {
  struct Size {
    std::string_view name;
    int64_t n;
  };
  // The L2 cache and memory of most machines.
  constexpr Size kSizes[] = {{"16Ki", int64_t{16} << 10}, {"8Mi", int64_t{8} << 20}};
  std::span<const SleefFunction> sleef;
#ifdef REPDL_BENCH_HAS_SLEEF
  FindSleefFunctions(Place(), {&sleef});
  benchmark::AddCustomContext("sleef",
                              Message(SLEEF_VERSION_MAJOR, ".", SLEEF_VERSION_MINOR, ".", SLEEF_VERSION_PATCHLEVEL));
#else
  benchmark::AddCustomContext("sleef", "not installed");
#endif
  for (const Function& function : kFunctions) {
    for (const Size& size : kSizes) {
      const auto add = [&](std::string_view whose, FunctionRun run) {
        benchmark::RegisterBenchmark(
            Message("function/", function.op, "/", size.name, "/", whose).c_str(),
            [&function, run, n = size.n](benchmark::State& state) { RunFunction(state, function, run, n); });
      };
      add("repdl", function.run);
      const auto found = std::ranges::find(sleef, function.op, &SleefFunction::op);
      if (found != sleef.end()) add("Sleef", found->run);
    }
  }
}

}  // namespace repdl::bench

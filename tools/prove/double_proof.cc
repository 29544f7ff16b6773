// SPDX-License-Identifier: MIT
#include "double_proof.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>

#include "parallel.h"
#include "progress.h"
#include "random_doubles.h"
#include "repdl/error.h"
#include "repdl/threads.h"
#include "results.h"

namespace repdl::prove {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

void PrintResults(const std::string& name, const reference::RandomResults& results, double seconds) {
  const auto number = [](int64_t n) { return static_cast<long long>(n); };
  std::printf(
      "%s: %lld inputs in %lld intervals, %.1f s in all; MPFR gave %lld results where there is no polynomial, and "
      "decided %lld; %lld results are subnormal\n",
      name.c_str(), number(results.inputs), number(results.intervals), seconds, number(results.by_mpfr),
      number(results.undecided), number(results.subnormal));
  std::printf(
      "%s: polynomials were within 2^%.1f of MPFR, of which 2^%.0f is allowed and the rounding test expects 2^%.0f; "
      "%lld other checks of them, %lld out of bounds\n",
      name.c_str(), std::log2(results.error), std::log2(reference::kMeasuredBound), std::log2(reference::kTestBound),
      number(results.checked), number(results.bad));
}

}  // namespace

bool TryDoubles(const reference::Function& function, const OpInfo& op, const std::vector<Target>& targets,
                const Options& options) {
  const std::string name = Message(function.name, ", float64");
  std::vector<double> seconds(targets.size(), 0);
  std::vector<reference::ComputeDoubles> ways;
  for (size_t t = 0; t < targets.size(); ++t) {
    ways.emplace_back([&, t](const std::vector<double>& x, const std::vector<double>& y, std::vector<double>& out) {
      const Clock::time_point start = Clock::now();
      EvaluateDoubles(op, function, targets[t], x, y, out);
      seconds[t] += SecondsSince(start);
    });
  }
  const auto show = [&](size_t t, double x, double y, double got, double expected) {
    char operands[64];
    const bool binary = function.kind == reference::Function::Kind::kBinary;
    std::snprintf(operands, sizeof operands, binary ? "%a, %a" : "%a", x, y);
    std::printf("%s(%s) is %a on %s, should be %a\n", std::string(function.name).c_str(), operands, got,
                targets[t].name.c_str(), expected);
  };
  reference::RandomDoubles tried = options.random;
  tried.an_interval = std::clamp<int64_t>(tried.inputs / 1024, 256, tried.an_interval);  // so that there are many
  reference::SetThreads(GetNumThreads());
  const Clock::time_point start = Clock::now();
  reference::RandomResults results;
  {
    Progress progress(name, options.random.inputs);
    results = reference::TryRandomDoubles(function, tried, ways, show, [&](int64_t done) { progress.Show(done); });
  }
  PrintResults(name, results, SecondsSince(start));
  bool good = results.bad == 0;
  for (size_t t = 0; t < targets.size(); ++t) {
    std::printf("%s, %s: %lld wrong, %.1f s\n", name.c_str(), targets[t].name.c_str(),
                static_cast<long long>(results.wrong[t]), seconds[t]);
    good = good && results.wrong[t] == 0;
    if (options.results.empty() || results.bad != 0) continue;
    Record(options.results, {std::string(function.name), "float64", targets[t].name, "random", results.inputs,
                             results.wrong[t], seconds[t], targets[t].compiler, targets[t].processor, options.commit,
                             Message("repdl prove ", function.name, " --dtype float64 --target ", targets[t].name,
                                     " --random ", options.random.inputs, " --seed ", options.random.seed)});
  }
  std::fflush(stdout);
  return good;
}

}  // namespace repdl::prove

// SPDX-License-Identifier: MIT
#include "proof.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "expected.h"
#include "progress.h"
#include "repdl/error.h"
#include "results.h"

namespace repdl::prove {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double Number(uint32_t bits) { return static_cast<double>(std::bit_cast<float>(bits)); }

/// Inputs at one time: they and their results fit into a cache.
constexpr int64_t kBatch = int64_t{1} << 18;
/// Wrong results that are printed, for each target.
constexpr int64_t kShown = 5;
/// Cases in a file of hard cases that are the results of a search.
constexpr size_t kHardest = 16;

/// "pow(0x40000000, 0x3f800000)", and the operands as numbers.
std::string CallOf(const reference::Function& function, DType dtype, const Batch& batch, int64_t i) {
  char patterns[64], numbers[64];
  if (batch.second.empty()) {
    std::snprintf(patterns, sizeof patterns, "0x%x", batch.first[i]);
    std::snprintf(numbers, sizeof numbers, "%a", static_cast<double>(ValueOf(batch.first[i], dtype)));
  } else {
    std::snprintf(patterns, sizeof patterns, "0x%x, 0x%x", batch.first[i], batch.second[i]);
    std::snprintf(numbers, sizeof numbers, "%a, %a", static_cast<double>(ValueOf(batch.first[i], dtype)),
                  static_cast<double>(ValueOf(batch.second[i], dtype)));
  }
  return Message(function.name, "(", patterns, ") of ", numbers);
}

/// Adds what was found to the file of hard cases, and the result to every line of it. Its comments stay.
void WriteHardCases(const reference::Function& function, const std::vector<Expected::HardCase>& found) {
  const size_t operands = function.kind == reference::Function::Kind::kBinary ? 2 : 1;
  std::vector<std::vector<uint32_t>> cases = ReadHardCases(function.name);
  for (auto& words : cases) words.resize(operands);
  for (const auto& hard : found) cases.push_back({hard.input});
  if (cases.empty()) return;
  std::ranges::sort(cases);
  cases.erase(std::unique(cases.begin(), cases.end()), cases.end());

  std::string text;
  std::ifstream old(HardCaseFile(function.name));
  for (std::string line; std::getline(old, line);) {
    if (line.starts_with('#')) text += line + '\n';
  }
  old.close();
  if (text.empty()) {
    text = Message("# ", function.name,
                   ": operands, as bits of float32, whose results are next to a midpoint of two floats.\n");
  }
  constexpr std::string_view kAboutResults = "# The last column is the result; `repdl prove --hard-cases` writes it.\n";
  if (text.find(kAboutResults) == std::string::npos) text += kAboutResults;
  char word[16];
  for (const auto& words : cases) {
    for (uint32_t bits : words) {
      std::snprintf(word, sizeof word, "%08x ", bits);
      text += word;
    }
    const float x = ValueOf(words[0], DType::kFloat32);
    const float y = operands == 2 ? ValueOf(words[1], DType::kFloat32) : 0.0f;
    std::snprintf(word, sizeof word, "%08x\n", CanonicalBits(reference::Rounded(function, x, y)));
    text += word;
  }
  std::ofstream file(HardCaseFile(function.name));
  if (!(file << text)) throw ValueError(Message("cannot write ", HardCaseFile(function.name)));
}

}  // namespace

bool Prove(const reference::Function& function, const OpInfo* op, DType dtype, const std::vector<Target>& targets,
           const Options& options) {
  const Inputs inputs(function, dtype, options.amount);
  Expected expected(function, dtype, inputs.size(), options.checks);
  std::vector<int64_t> wrong(targets.size(), 0);
  std::vector<double> seconds(targets.size(), 0);
  double filter_seconds = 0;
  Batch batch;
  std::vector<uint32_t> right, got;
  {
    Progress progress(Message(function.name, ", ", Name(dtype)), inputs.size());
    for (int64_t begin = 0; begin < inputs.size(); begin += kBatch) {
      const int64_t end = std::min(inputs.size(), begin + kBatch);
      auto start = Clock::now();
      inputs.Get(begin, end, batch);
      expected.Get(batch, begin, right);
      filter_seconds += SecondsSince(start);
      for (size_t t = 0; t < targets.size(); ++t) {
        start = Clock::now();
        Evaluate(*op, function, dtype, targets[t], batch, got);
        const bool same = got == right;
        for (int64_t i = 0; i < batch.size() && !same; ++i) {
          if (got[i] == right[i]) continue;
          if (wrong[t]++ >= kShown) continue;
          std::printf("%s is %a on %s, should be %a\n", CallOf(function, dtype, batch, i).c_str(), Number(got[i]),
                      targets[t].name.c_str(), Number(right[i]));
        }
        seconds[t] += SecondsSince(start);
      }
      progress.Show(end);
    }
  }
  const std::string name = Message(function.name, ", ", Name(dtype));
  std::printf("%s: %lld inputs, filter %.1f s, checked %lld times, MPFR decided %lld\n", name.c_str(),
              static_cast<long long>(inputs.size()), filter_seconds, static_cast<long long>(expected.checked()),
              static_cast<long long>(expected.asked()));
  bool good = expected.bad() == 0;
  if (!good)
    std::printf("%s: the filter is out of its bound %lld times\n", name.c_str(),
                static_cast<long long>(expected.bad()));
  for (size_t t = 0; t < targets.size(); ++t) {
    std::printf("%s, %s: %lld wrong, %.1f s\n", name.c_str(), targets[t].name.c_str(), static_cast<long long>(wrong[t]),
                seconds[t]);
    good = good && wrong[t] == 0;
    if (!options.results.empty()) {
      Record(options.results,
             {std::string(function.name), std::string(Name(dtype)), targets[t].name, inputs.tried(), inputs.size(),
              wrong[t], seconds[t], targets[t].compiler, targets[t].processor, options.commit});
    }
  }
  std::fflush(stdout);
  if (options.hard_cases && dtype == DType::kFloat32) {
    WriteHardCases(function, expected.Hardest(inputs.tried() == "all" ? kHardest : 0));
  }
  return good;
}

}  // namespace repdl::prove

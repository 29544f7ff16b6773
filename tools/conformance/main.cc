// SPDX-License-Identifier: MIT
// Runs the cases of the golden files on this machine: the check of a platform, without Python.
// `repdl_conformance --help` says how to call it.
#include <getopt.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "repdl/error.h"
#include "repdl/golden.h"
#include "repdl/threads.h"
#include "repdl/version.h"

namespace {

using repdl::Message;
using repdl::ValueError;

constexpr char kUsage[] =
    "usage: repdl_conformance GOLDEN_DIR [--target T]... [--op NAME]... [--threads N]\n"
    "\n"
    "Runs every case of the golden files and compares digests. Of a case that fails it says where the results first\n"
    "differ.\n"
    "\n"
    "  GOLDEN_DIR   the folder of the golden files: python/repdl/golden\n"
    "  --target T   scalar, avx2, neon, cuda:0, ...; all that this machine can run\n"
    "  --op NAME    mm, conv2d, ...; all\n"
    "  --threads N  default: as the library\n"
    "\n"
    "Exit status: 0 all digests right, 1 a case failed, 2 a wrong call.\n";

struct Options {
  std::string golden;
  std::vector<std::string> places, ops;
};

/// What is named, or all if nothing is; throws ValueError, with what there is, for a name that is not among all.
std::vector<std::string> Choose(const char* what, const std::vector<std::string>& named,
                                const std::vector<std::string>& all) {
  for (const std::string& name : named) {
    if (std::find(all.begin(), all.end(), name) != all.end()) continue;
    std::string there;
    for (const std::string& one : all) there += " " + one;
    throw ValueError(Message("there is no ", what, " '", name, "' here; there are:", there));
  }
  return named.empty() ? all : named;
}

Options ParseOptions(int argc, char** argv) {
  enum : int { kTarget, kOp, kThreads, kHelp };
  constexpr option kOptions[] = {{"target", required_argument, nullptr, kTarget},
                                 {"op", required_argument, nullptr, kOp},
                                 {"threads", required_argument, nullptr, kThreads},
                                 {"help", no_argument, nullptr, kHelp},
                                 {nullptr, 0, nullptr, 0}};
  std::vector<std::string> places, ops;
  for (int option; (option = getopt_long(argc, argv, "h", kOptions, nullptr)) != -1;) {
    switch (option) {
      case kTarget: places.emplace_back(optarg); break;
      case kOp: ops.emplace_back(optarg); break;
      case kThreads: {
        const std::string_view text = optarg;
        int threads = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), threads);
        if (error != std::errc() || end != text.data() + text.size()) {
          throw ValueError(Message("--threads must be a whole number, got '", text, "'"));
        }
        repdl::SetNumThreads(threads);
        break;
      }
      case kHelp:
      case 'h': std::fputs(kUsage, stdout); std::exit(0);
      default: throw ValueError("repdl_conformance --help says what it takes");
    }
  }
  if (argc - optind != 1) throw ValueError("one folder of golden files must be named; --help says more");
  std::vector<std::string> all_ops;
  for (const repdl::OpInfo& op : repdl::AllOps()) all_ops.emplace_back(op.name);
  return {argv[optind], Choose("target", places, repdl::Places()), Choose("op", ops, all_ops)};
}

struct Count {
  int ops = 0, cases = 0, passed = 0, failed = 0, no_kernel = 0;
  double seconds = 0;
};

void RunCase(const repdl::GoldenLine& line, const std::string& place, Count& count) {
  ++count.cases;
  std::string what;
  try {
    repdl::Case test_case(line.text);
    if (repdl::Digest(repdl::RunAt(place, test_case)) == line.digest) {
      ++count.passed;
      return;
    }
    what = repdl::Explain(line, place);
  } catch (const repdl::NotImplementedError&) {
    ++count.no_kernel;
    return;
  } catch (const std::exception& error) {
    what = error.what();
  }
  ++count.failed;
  std::printf("FAILED on %s: %s\n    %s\n", place.c_str(), line.text.c_str(), what.c_str());
  std::fflush(stdout);
}

/// Returns whether cases passed, and none failed.
bool Run(const Options& options) {
  using Clock = std::chrono::steady_clock;
  std::vector<Count> counts(options.places.size());
  for (const std::string& op : options.ops) {
    const std::vector<repdl::GoldenLine> lines = repdl::ReadGoldenFile(options.golden + "/" + op + ".txt");
    for (size_t p = 0; p < options.places.size(); ++p) {
      const Clock::time_point start = Clock::now();
      for (const repdl::GoldenLine& line : lines) RunCase(line, options.places[p], counts[p]);
      ++counts[p].ops;
      counts[p].seconds += std::chrono::duration<double>(Clock::now() - start).count();
    }
  }
  std::printf("repdl %s, arithmetic version %d, %d threads\n\n", REPDL_VERSION, repdl::kArithmeticVersion,
              repdl::GetNumThreads());
  std::printf("%-8s %5s %6s %7s %7s %10s %8s\n", "target", "ops", "cases", "passed", "failed", "no kernel", "seconds");
  bool any_passed = false, any_failed = false;
  for (size_t p = 0; p < options.places.size(); ++p) {
    const Count& c = counts[p];
    std::printf("%-8s %5d %6d %7d %7d %10d %8.1f\n", options.places[p].c_str(), c.ops, c.cases, c.passed, c.failed,
                c.no_kernel, c.seconds);
    any_passed = any_passed || c.passed > 0;
    any_failed = any_failed || c.failed > 0;
  }
  return any_passed && !any_failed;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Run(ParseOptions(argc, argv)) ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "repdl_conformance: %s\n", error.what());
    return 2;
  }
}

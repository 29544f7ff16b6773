// SPDX-License-Identifier: MIT
#include "options.h"

#include <getopt.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "repdl/error.h"
#include "repdl/threads.h"

namespace repdl::prove {
namespace {

constexpr char kUsage[] =
    "usage: repdl_prove [FUNCTION...] [--target T]... [--dtype D]... [--stride N] [--offset K] [--pairs N]\n"
    "                   [--random N] [--seed S] [--checks N] [--threads N] [--results FILE] [--commit C]\n"
    "                   [--check-filters] [--hard-cases]\n"
    "\n"
    "Compares elementwise functions with MPFR: all float32 inputs of each function of one number, random pairs and\n"
    "known hard cases of those of two; all that there are if no FUNCTION is named. Of float64, which has to be named,\n"
    "random inputs.\n"
    "\n"
    "  --target T       scalar, sse4, avx2, avx512, neon or cuda:0; all that this machine can run\n"
    "  --dtype D        float32, bfloat16, float16 or float64; all that the function takes but float64\n"
    "  --stride N       every Nth float32 input only\n"
    "  --offset K       begin with input K; another K makes other random pairs\n"
    "  --pairs N        random pairs of functions of two numbers (10000000)\n"
    "  --random N       random inputs of float64 (10000000)\n"
    "  --seed S         another S makes other random inputs of float64 (1)\n"
    "  --checks N       inputs at which the filter is checked, besides those that it leaves to MPFR (1048576)\n"
    "  --threads N      default: as the library\n"
    "  --results FILE   put a line for each function, dtype and target into FILE\n"
    "  --commit C       what those lines name as the commit that was tried; `repdl prove` finds it out\n"
    "  --check-filters  check the filters only; for that no op is needed\n"
    "  --hard-cases     if all inputs are tried, add the hardest to the files in tests/reference/hard_cases; write "
    "the\n"
    "                   results of all cases there\n"
    "\n"
    "Exit status: 0 all results right, 1 a result or a filter wrong, 2 a wrong call.\n";

int64_t ParseCount(const char* option, std::string_view text, int64_t least) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least) {
    throw ValueError(Message("--", option, " must be a whole number of at least ", least, ", got '", text, "'"));
  }
  return value;
}

DType ParseDType(std::string_view text) {
  for (DType dtype : {DType::kFloat32, DType::kBFloat16, DType::kFloat16, DType::kFloat64}) {
    if (Name(dtype) == text) return dtype;
  }
  throw ValueError(Message("--dtype must be float32, bfloat16, float16 or float64, got '", text, "'"));
}

}  // namespace

Options ParseOptions(int argc, char** argv) {
  enum : int {
    kTarget,
    kDType,
    kStride,
    kOffset,
    kPairs,
    kRandom,
    kSeed,
    kChecks,
    kThreads,
    kResults,
    kCommit,
    kCheckFilters,
    kHardCases,
    kHelp
  };
  constexpr option kOptions[] = {{"target", required_argument, nullptr, kTarget},
                                 {"dtype", required_argument, nullptr, kDType},
                                 {"stride", required_argument, nullptr, kStride},
                                 {"offset", required_argument, nullptr, kOffset},
                                 {"pairs", required_argument, nullptr, kPairs},
                                 {"random", required_argument, nullptr, kRandom},
                                 {"seed", required_argument, nullptr, kSeed},
                                 {"checks", required_argument, nullptr, kChecks},
                                 {"threads", required_argument, nullptr, kThreads},
                                 {"results", required_argument, nullptr, kResults},
                                 {"commit", required_argument, nullptr, kCommit},
                                 {"check-filters", no_argument, nullptr, kCheckFilters},
                                 {"hard-cases", no_argument, nullptr, kHardCases},
                                 {"help", no_argument, nullptr, kHelp},
                                 {nullptr, 0, nullptr, 0}};
  Options result;
  std::vector<DType> dtypes;
  for (int option; (option = getopt_long(argc, argv, "h", kOptions, nullptr)) != -1;) {
    switch (option) {
      case kTarget: result.targets.emplace_back(optarg); break;
      case kDType: dtypes.push_back(ParseDType(optarg)); break;
      case kStride: result.amount.stride = ParseCount("stride", optarg, 1); break;
      case kOffset: result.amount.offset = ParseCount("offset", optarg, 0); break;
      case kPairs: result.amount.pairs = ParseCount("pairs", optarg, 0); break;
      case kRandom: result.random.inputs = ParseCount("random", optarg, 1); break;
      case kSeed: result.random.seed = static_cast<uint64_t>(ParseCount("seed", optarg, 0)); break;
      case kChecks: result.checks = ParseCount("checks", optarg, 1); break;
      case kThreads:
        SetNumThreads(static_cast<int>(std::min<int64_t>(ParseCount("threads", optarg, 1), INT_MAX)));
        break;
      case kResults: result.results = optarg; break;
      case kCommit: result.commit = optarg; break;
      case kCheckFilters: result.check_filters = true; break;
      case kHardCases: result.hard_cases = true; break;
      case kHelp:
      case 'h': std::fputs(kUsage, stdout); std::exit(0);
      default: throw ValueError("repdl_prove --help says what it takes");
    }
  }
  result.functions.assign(argv + optind, argv + argc);
  if (!dtypes.empty()) result.dtypes = dtypes;
  return result;
}

}  // namespace repdl::prove

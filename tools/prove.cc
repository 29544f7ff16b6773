// SPDX-License-Identifier: MIT
// Proves that elementwise functions are correctly rounded, for all 2^32 float32 inputs, on every CPU target, against
// MPFR.
//
//     repdl_prove [FUNCTION...] [--stride N] [--threads N]
//
// Without names, every function that has a row in kExact. --stride N takes every Nth input only. REPDL_TARGET limits
// the run to one target. Exit status: 0 proven, 1 an input is rounded wrongly, 2 a wrong call.
//
// MPFR takes a microsecond a call, so it is asked as little as a proof allows: where all targets give the same bits,
// once for all of them; and of inputs in a row that give one result, only about the two ends, if the function is
// monotone, since rounding keeps the order.
#include <getopt.h>
#include <mpfr.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <charconv>
#include <chrono>
#include <climits>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "repdl/error.h"
#include "repdl/ops.h"
#include "repdl/target.h"
#include "repdl/threads.h"

namespace repdl {
namespace {

/// The mathematical function of an op. `monotone`: on its domain, an interval.
struct Exact {
  std::string_view op;
  int (*function)(mpfr_ptr result, mpfr_srcptr x, mpfr_rnd_t rounding);
  bool monotone;
};
constexpr Exact kExact[] = {
#define EXACT_FUNCTION(op, function, monotone) {#op, function, monotone},
#include "functions.def"
#undef EXACT_FUNCTION
};

struct Op {
  const char* name;
  void (*run)(const TensorView& input, Out result);
};
constexpr Op kOps[] = {
#define REPDL_UNARY(op, Function) {#op, &Function},
#include "repdl/ops/unary.def"
#undef REPDL_UNARY
};

/// The function rounded once to float32.
class Rounded {
 public:
  explicit Rounded(const Exact& exact) : exact_(exact) {
    // The exponents of float32, of this thread, for a fraction in [1/2, 1): a result is rounded once even where it
    // is subnormal.
    mpfr_set_emin(-148);
    mpfr_set_emax(128);
    mpfr_init2(x_, 24);
    mpfr_init2(y_, 24);
  }
  ~Rounded() {
    mpfr_clear(x_);
    mpfr_clear(y_);
  }
  Rounded(const Rounded&) = delete;
  Rounded& operator=(const Rounded&) = delete;

  float operator()(float x) {
    mpfr_set_flt(x_, x, MPFR_RNDN);
    mpfr_subnormalize(y_, exact_.function(y_, x_, MPFR_RNDN), MPFR_RNDN);
    return mpfr_get_flt(y_, MPFR_RNDN);
  }

 private:
  const Exact& exact_;
  mpfr_t x_, y_;
};

/// The bits, every NaN alike.
uint32_t BitsOf(float x) { return std::isnan(x) ? 0x7fc00000 : std::bit_cast<uint32_t>(x); }

struct Target {
  std::string name;
  std::vector<float> results;  // of the inputs of a batch
  std::atomic<int64_t> wrong = 0;
};

class Proof {
 public:
  Proof(const Op& op, const Exact& exact, std::vector<Target>& targets) : op_(op), exact_(exact), targets_(targets) {}

  /// Inputs are the bit patterns 0, stride, 2 stride, ... below 2^32. Returns whether all results are right.
  bool Run(int64_t stride);

 private:
  static constexpr int64_t kBatch = int64_t{1} << 22;
  static constexpr int64_t kSlice = int64_t{1} << 14;

  void CheckSlice(int64_t begin, int64_t end);
  void Check(int64_t i, Rounded& rounded);
  bool SameOnAllTargets(int64_t i) const;

  const Op& op_;
  const Exact& exact_;
  std::vector<Target>& targets_;
  std::vector<float> inputs_;
  std::mutex print_;
};

bool Proof::Run(int64_t stride) {
  const auto start = std::chrono::steady_clock::now();
  const int64_t total = ((int64_t{1} << 32) + stride - 1) / stride;
  for (Target& target : targets_) target.wrong = 0;
  for (int64_t done = 0; done < total;) {
    const int64_t n = std::min(kBatch, total - done);
    inputs_.resize(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) inputs_[i] = std::bit_cast<float>(static_cast<uint32_t>((done + i) * stride));
    for (Target& target : targets_) {
      target.results.resize(static_cast<size_t>(n));
      SetTarget(target.name);
      op_.run(MakeView(inputs_.data(), {n}), MakeView(target.results.data(), {n}));
    }
    ParallelFor((n + kSlice - 1) / kSlice,
                [&](int64_t slice) { CheckSlice(slice * kSlice, std::min(n, (slice + 1) * kSlice)); });
    done += n;
    std::fprintf(stderr, "\r%s: %3d %%", op_.name, static_cast<int>(100 * done / total));
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::fprintf(stderr, "\r%s: %.0f s\n", op_.name, seconds);
  bool right = true;
  for (const Target& target : targets_) {
    std::printf("%s, %s: %lld inputs, %lld wrong\n", op_.name, target.name.c_str(), static_cast<long long>(total),
                static_cast<long long>(target.wrong));
    right = right && target.wrong == 0;
  }
  std::fflush(stdout);
  return right;
}

void Proof::CheckSlice(int64_t begin, int64_t end) {
  Rounded rounded(exact_);
  const std::vector<float>& results = targets_[0].results;
  for (int64_t i = begin; i < end;) {
    const uint32_t bits = BitsOf(results[i]);
    int64_t run_end = i + 1;
    while (exact_.monotone && run_end < end && BitsOf(results[run_end]) == bits &&
           std::signbit(inputs_[run_end]) == std::signbit(inputs_[i])) {
      ++run_end;
    }
    const bool right =
        BitsOf(rounded(inputs_[i])) == bits && (run_end == i + 1 || BitsOf(rounded(inputs_[run_end - 1])) == bits);
    for (; i < run_end; ++i) {
      if (!right || !SameOnAllTargets(i)) Check(i, rounded);
    }
  }
}

void Proof::Check(int64_t i, Rounded& rounded) {
  const float expected = rounded(inputs_[i]);
  for (Target& target : targets_) {
    if (BitsOf(target.results[i]) == BitsOf(expected)) continue;
    if (target.wrong.fetch_add(1) >= 5) continue;
    const std::lock_guard<std::mutex> lock(print_);
    std::printf("%s(%a) is %a on %s, should be %a\n", op_.name, static_cast<double>(inputs_[i]),
                static_cast<double>(target.results[i]), target.name.c_str(), static_cast<double>(expected));
  }
}

bool Proof::SameOnAllTargets(int64_t i) const {
  const uint32_t bits = BitsOf(targets_[0].results[i]);
  for (size_t t = 1; t < targets_.size(); ++t) {
    if (BitsOf(targets_[t].results[i]) != bits) return false;
  }
  return true;
}

const Exact* FindExact(std::string_view op) {
  for (const Exact& exact : kExact) {
    if (exact.op == op) return &exact;
  }
  return nullptr;
}

int64_t ParseCount(const char* option, std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1) {
    throw ValueError(Message("--", option, " must be a positive number, got '", text, "'"));
  }
  return value;
}

bool ProveAll(int argc, char** argv) {
  const option options[] = {{"stride", required_argument, nullptr, 's'},
                            {"threads", required_argument, nullptr, 't'},
                            {nullptr, 0, nullptr, 0}};
  int64_t stride = 1;
  for (int option; (option = getopt_long(argc, argv, "", options, nullptr)) != -1;) {
    switch (option) {
      case 's': stride = ParseCount("stride", optarg); break;
      case 't': SetNumThreads(static_cast<int>(std::min<int64_t>(ParseCount("threads", optarg), INT_MAX))); break;
      default: throw ValueError("usage: repdl_prove [FUNCTION...] [--stride N] [--threads N]");
    }
  }
  const std::vector<std::string_view> wanted(argv + optind, argv + argc);
  for (std::string_view name : wanted) {
    if (FindExact(name) == nullptr) throw ValueError(Message("there is no proof of '", name, "'; see kExact"));
  }
  std::vector<std::string_view> names = SupportedTargets();
  if (std::getenv("REPDL_TARGET") != nullptr) names = {ActiveTarget()};
  std::vector<Target> targets(names.size());
  // The fastest first: it meets MPFR, the others are compared with it.
  for (size_t t = 0; t < names.size(); ++t) targets[t].name = names[names.size() - 1 - t];

  bool right = true;
  for (const Op& op : kOps) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), op.name) == wanted.end()) continue;
    const Exact* exact = FindExact(op.name);
    if (exact == nullptr) {
      std::printf("%s: no row in kExact, nothing proven\n", op.name);
    } else {
      right = Proof(op, *exact, targets).Run(stride) && right;
    }
  }
  return right;
}

}  // namespace
}  // namespace repdl

int main(int argc, char** argv) {
  try {
    return repdl::ProveAll(argc, argv) ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "repdl_prove: %s\n", error.what());
    return 2;
  }
}

// SPDX-License-Identifier: MIT
#include "base/cpu_target.h"

#include <atomic>
#include <cstdlib>
#include <string>

#if defined(__aarch64__) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#endif

#include "repdl/error.h"
#include "repdl/target.h"

namespace repdl {
namespace {

#define REPDL_TARGET_LABEL(target_namespace, label) label,
constexpr std::string_view kTargets[] = {REPDL_FOR_EACH_TARGET(REPDL_TARGET_LABEL)};
#undef REPDL_TARGET_LABEL
constexpr int kNumTargets = static_cast<int>(std::size(kTargets));

#if defined(__aarch64__) && defined(__linux__)
/// Bytes of an SVE vector of this thread; a process may ask for fewer than the CPU has. 0 without SVE.
int SveBytes() {
  if ((getauxval(AT_HWCAP) & HWCAP_SVE) == 0) return 0;
  const int length = prctl(PR_SVE_GET_VL);
  return length < 0 ? 0 : length & PR_SVE_VL_LEN_MASK;
}
#endif

bool IsSupported(std::string_view target) {
  if (target == "scalar") return true;
#if defined(__x86_64__)
  // What Highway's code for the target may use; __builtin_cpu_supports also asks the operating system.
  if (target == "sse2") return true;
  if (target == "ssse3") return __builtin_cpu_supports("ssse3");
  if (target == "sse4") return __builtin_cpu_supports("sse4.2");
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                    __builtin_cpu_supports("bmi2");
  if (target == "avx2") return avx2;
  if (target == "avx512") {
    return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd");
  }
#elif defined(__aarch64__)
  if (target == "neon") return true;
#if defined(__linux__)
  if (target == "sve256") return SveBytes() == 32;
  if (target == "sve2_128") return SveBytes() == 16 && (getauxval(AT_HWCAP2) & HWCAP2_SVE2) != 0;
#endif
#endif
  return false;
}

int Find(std::string_view name, std::string_view who) {
  std::string supported;
  for (int i = 0; i < kNumTargets; ++i) {
    if (!IsSupported(kTargets[i])) continue;
    if (kTargets[i] == name) return i;
    supported += supported.empty() ? "" : ", ";
    supported += kTargets[i];
  }
  throw ValueError(Message(who, " names the CPU target '", name,
                           "', which is not compiled in or not supported by this CPU; choose one of: ", supported));
}

int Best() {
  for (int i = kNumTargets - 1; i > 0; --i) {
    if (IsSupported(kTargets[i])) return i;
  }
  return 0;
}

std::atomic<int> active{-1};  // -1: not chosen yet

}  // namespace

namespace internal {

int ActiveTargetIndex() {
  int index = active.load(std::memory_order_relaxed);
  if (index < 0) [[unlikely]] {
    const char* forced = std::getenv("REPDL_TARGET");
    index = forced != nullptr && *forced != '\0' ? Find(forced, "REPDL_TARGET") : Best();
    int expected = -1;
    if (!active.compare_exchange_strong(expected, index)) index = expected;
  }
  return index;
}

}  // namespace internal

std::vector<std::string_view> CompiledTargets() { return {std::begin(kTargets), std::end(kTargets)}; }

std::vector<std::string_view> SupportedTargets() {
  std::vector<std::string_view> supported;
  for (std::string_view target : kTargets) {
    if (IsSupported(target)) supported.push_back(target);
  }
  return supported;
}

std::string_view ActiveTarget() { return kTargets[internal::ActiveTargetIndex()]; }

void SetTarget(std::string_view name) { active.store(Find(name, "[set_target] name")); }

}  // namespace repdl

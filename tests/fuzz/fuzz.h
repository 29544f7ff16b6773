// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "repdl/op.h"

// What the fuzzers try. Each function takes any bytes and returns what is wrong, or an empty text; whatever else goes
// wrong, the sanitizers say.

namespace repdl::testing {

/// The bytes are a golden file; then each of its lines is a case. Both are read or refused with a ValueError, and a case
/// that is read runs.
std::string FuzzText(std::span<const uint8_t> bytes);

/// The bytes choose a small golden case and change its arguments: shapes, strides, dtypes, values, numbers.
std::string FuzzCall(std::span<const uint8_t> bytes);

/// No case of a fuzzer has more elements in its tensors, no call more in its results, so that each is quick.
inline constexpr int64_t kMaxFuzzElements = 4096;

/// Says whether the results of infer are few enough to be made; what infer throws comes out of here.
bool IsSmall(const OpInfo& op, std::span<const Value> args);

/// The digest of what a call of small results changes and returns, or its error, on the CPU target `target`.
std::string Outcome(const OpInfo& op, std::span<const Value> args, std::string_view target, int threads);

}  // namespace repdl::testing

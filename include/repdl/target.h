// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>
#include <vector>

namespace repdl {

/// Names of the CPU targets in this build, slowest first: "scalar", then e.g. "sse4", "avx2", "avx512".
std::vector<std::string_view> CompiledTargets();

/// Those of them that this CPU can run.
std::vector<std::string_view> SupportedTargets();

/// The target that ops run on: the best supported one, or the one named by the environment variable
/// REPDL_TARGET, read once. Bits do not depend on it. Throws ValueError if REPDL_TARGET names a
/// target that is not compiled in or that this CPU cannot run.
std::string_view ActiveTarget();

/// Chooses the target for all later ops of the process; throws ValueError as above.
void SetTarget(std::string_view name);

}  // namespace repdl

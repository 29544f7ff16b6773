// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>

namespace repdl::reference {

/// Threads that ForEach uses; 1 unless set.
void SetThreads(int threads);

/// Calls body(i) for every i < count. The calls must not depend on each other.
void ForEach(int64_t count, const std::function<void(int64_t)>& body);

}  // namespace repdl::reference

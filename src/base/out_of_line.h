// SPDX-License-Identifier: MIT
#pragma once

namespace repdl {

/// work(args...) by a call, which a compiler does not replace: for work that stands at several places, of which one runs.
/// It is compiled once then, and work that is worth threads, or a chunk of a sum, does not feel a call.
template <class Work, class... Args>
[[gnu::noinline]] auto OutOfLine(const Work& work, Args... args) {
  return work(args...);
}

}  // namespace repdl

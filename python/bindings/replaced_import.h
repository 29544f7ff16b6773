// SPDX-License-Identifier: MIT
#pragma once

namespace repdl {

/// Lets the shared library that has `function`, under a name that others may take over, call another one wherever it
/// calls it by that name. False if it has no such call, and nothing is changed. The same two the other way around give
/// it its own back.
bool ReplaceImport(const char* name, void* function, void* by);

}  // namespace repdl

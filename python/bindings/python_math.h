// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

namespace repdl {

/// Lets libraries compute by our functions where they take the C library's: those that hold the code of these objects, each
/// a function that is written in C, a type, whose `**` it is, or an address. Gives the names that each library takes.
std::vector<std::vector<std::string>> ReplaceMath(const std::vector<nanobind::object>& objects);

/// Gives them the functions back that they had.
void RestoreMath();

}  // namespace repdl

// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>

namespace repdl {

/// The op of a case and its arguments by name, tensors as NumPy arrays.
nanobind::tuple ReadCase(const std::string& text);

/// (digest, marks, case) of each line of a golden file.
nanobind::list ReadGoldenLines(const std::string& path);

/// Runs a case at a place, "avx2" or "cuda:0", without the GIL; returns the digest of its results.
std::string RunCase(const std::string& text, std::string_view place, int threads);

/// Where the results of a golden line first differ at a place.
std::string ExplainCase(const std::string& digest, const std::string& marks, const std::string& text,
                        std::string_view place, int threads);

}  // namespace repdl

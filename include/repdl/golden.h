// SPDX-License-Identifier: MIT
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "repdl/conformance.h"

// What the conformance programs are made of: golden files, the places where cases run, and what to say of a difference.

namespace repdl {

/// One line of a golden file: "<digest>  <marks>  <case>".
struct GoldenLine {
  std::string digest;
  std::string marks;
  std::string text;
};

/// The lines of a golden file without its comments. Throws ValueError, naming the file and the line, for what is no
/// golden file.
std::vector<GoldenLine> ReadGolden(std::istream& file, std::string_view name);

/// The same for the file at this path; ValueError, too, if it cannot be read.
std::vector<GoldenLine> ReadGoldenFile(const std::string& path);

/// Checksums by which a difference is found without the expected results. The elements of all results, one after the
/// other and as digests read them, are cut into blocks of n = ceil(N / 64) elements, N being their number, of which
/// the last may be shorter. The mark of a block is the CRC of its bytes (16 bits, polynomial 0x1021, start 0, not
/// reflected), in 4 hexadecimal digits. "-" for no elements.
std::string Marks(const std::vector<TensorView>& results);

/// Where this machine runs cases: the supported CPU targets, slowest first, then "cuda:0", …
std::vector<std::string> Places();

/// Runs a case at a place and returns its results, in host memory. The active target is as before afterwards. Throws
/// NotImplementedError if the op has no kernel there, and what the op throws.
std::vector<TensorView> RunAt(std::string_view place, Case& test_case);

/// Says, in one line, where the results that a case has at `place` first differ from the golden ones: element by element
/// if some CPU target here still gives the golden digest, else as far as the marks tell.
std::string Explain(const GoldenLine& line, std::string_view place);

/// The same for two lists of results: output, index, both values, how many differ, and by how much. Empty if they agree.
std::string DescribeDifference(const std::vector<TensorView>& expected, const std::vector<TensorView>& actual);

/// The same from the marks of the expected results.
std::string DescribeMarks(std::string_view expected, const std::vector<TensorView>& actual);

}  // namespace repdl

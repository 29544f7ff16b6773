// SPDX-License-Identifier: MIT
#include "repdl/golden.h"

#include <fstream>

#include "conformance/marks.h"
#include "repdl/error.h"

namespace repdl {
namespace {

constexpr std::string_view kSeparator = "  ";
constexpr size_t kDigestSize = 64;

bool IsHex(std::string_view text) { return text.find_first_not_of("0123456789abcdef") == std::string_view::npos; }

bool AreMarks(std::string_view text) {
  return text == kNoMarks || (!text.empty() && text.size() % kMarkDigits == 0 && IsHex(text));
}

}  // namespace

std::vector<GoldenLine> ReadGolden(std::istream& file, std::string_view name) {
  std::vector<GoldenLine> lines;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.empty() || line[0] == '#') continue;
    GoldenLine& golden = lines.emplace_back();
    const size_t marks = line.find(kSeparator);
    const size_t text = marks == std::string::npos ? marks : line.find(kSeparator, marks + kSeparator.size());
    if (text != std::string::npos) {
      golden = {line.substr(0, marks), line.substr(marks + kSeparator.size(), text - marks - kSeparator.size()),
                line.substr(text + kSeparator.size())};
    }
    if (golden.digest.size() != kDigestSize || !IsHex(golden.digest) || !AreMarks(golden.marks)) {
      throw ValueError(Message(name, ", line ", number, ": not `<digest>  <marks>  <case>`"));
    }
  }
  if (lines.empty()) throw ValueError(Message(name, " holds no case"));
  return lines;
}

std::vector<GoldenLine> ReadGoldenFile(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw ValueError(Message("there is no golden file ", path));
  return ReadGolden(file, path);
}

}  // namespace repdl

// SPDX-License-Identifier: MIT
#include <sstream>

#include "fuzz/fuzz.h"
#include "repdl/conformance.h"
#include "repdl/error.h"
#include "repdl/golden.h"
#include "repdl/target.h"

namespace repdl::testing {
namespace {

/// Runs the case on the slowest and the best target.
std::string FuzzCase(std::string_view text) {
  std::string outcomes[2];
  const std::string_view targets[] = {SupportedTargets().front(), SupportedTargets().back()};
  for (int i = 0; i < 2; ++i) {
    try {
      const Case test_case(text, kMaxFuzzElements);
      if (!IsSmall(test_case.op(), test_case.args())) return {};
      outcomes[i] = Outcome(test_case.op(), test_case.args(), targets[i], /*threads=*/1);
    } catch (const ValueError&) {
      return {};
    } catch (const TypeError&) {  // of infer: the text says no more of a type than it has to
      return {};
    } catch (const NotImplementedError&) {
      return {};
    }
  }
  return outcomes[0] == outcomes[1] ? "" : Message(text, ": ", outcomes[0], " or ", outcomes[1]);
}

}  // namespace

std::string FuzzText(std::span<const uint8_t> bytes) {
  const std::string text(bytes.begin(), bytes.end());
  std::vector<GoldenLine> lines;
  std::istringstream file(text);
  try {
    lines = ReadGolden(file, "the input");
  } catch (const ValueError&) {
    return FuzzCase(text);  // no golden file; so it may be a case alone
  }
  for (const GoldenLine& line : lines) {
    if (std::string wrong = FuzzCase(line.text); !wrong.empty()) return wrong;
  }
  return {};
}

}  // namespace repdl::testing

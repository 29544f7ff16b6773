// SPDX-License-Identifier: MIT
#include <algorithm>

#include "conformance/elements.h"
#include "conformance/marks.h"
#include "repdl/golden.h"

namespace repdl {
namespace {

uint16_t Crc16(uint16_t crc, uint8_t byte) {
  crc = static_cast<uint16_t>(crc ^ byte << 8);
  for (int bit = 0; bit < 8; ++bit) crc = static_cast<uint16_t>((crc & 0x8000) != 0 ? crc << 1 ^ 0x1021 : crc << 1);
  return crc;
}

void AppendHex(uint16_t mark, std::string& text) {
  for (int shift = 12; shift >= 0; shift -= 4) text += "0123456789abcdef"[mark >> shift & 0xf];
}

}  // namespace

int64_t MarkedBlock(int64_t num_elements) { return std::max<int64_t>((num_elements + kMaxMarks - 1) / kMaxMarks, 1); }

std::string Marks(const std::vector<TensorView>& results) {
  int64_t num_elements = 0, i = 0;
  for (const TensorView& result : results) num_elements += result.numel();
  if (num_elements == 0) return std::string(kNoMarks);
  const int64_t block = MarkedBlock(num_elements);
  std::string marks;
  uint16_t crc = 0;
  for (const TensorView& result : results) {
    VisitElements("marks", result, [&](auto bits) {
      for (size_t byte = 0; byte < sizeof bits; ++byte) crc = Crc16(crc, static_cast<uint8_t>(bits >> (8 * byte)));
      if (++i % block != 0 && i != num_elements) return;
      AppendHex(crc, marks);
      crc = 0;
    });
  }
  return marks;
}

}  // namespace repdl

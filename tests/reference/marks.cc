// SPDX-License-Identifier: MIT
#include "marks.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <stdexcept>

namespace repdl::reference {
namespace {

using Bytes = std::vector<unsigned char>;

/// The `size` bytes of a number, the lowest first.
Bytes LittleEndian(uint64_t number, int size) {
  Bytes bytes;
  for (int i = 0; i < size; ++i) bytes.push_back(static_cast<unsigned char>(number >> (8 * i) & 255));
  return bytes;
}

/// A number of 16 bits with `exponent` bits of exponent, every NaN as the one with only the highest fraction bit.
Bytes HalfBytes(uint16_t bits, int exponent) {
  const int infinity = ((1 << exponent) - 1) << (15 - exponent);
  const bool is_nan = bits % 32768 > infinity;
  return LittleEndian(is_nan ? static_cast<uint64_t>(infinity | 1 << (14 - exponent)) : bits, 2);
}

Bytes ElementBytes(const TensorView& tensor, int64_t i) {
  if (tensor.dtype == DType::kFloat32) {
    const float value = tensor.Data<float>()[i];
    uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    return LittleEndian(std::isnan(value) ? 0x7fc00000 : bits, 4);
  }
  if (tensor.dtype == DType::kFloat64) {
    const double value = tensor.Data<double>()[i];
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    return LittleEndian(std::isnan(value) ? 0x7ff8000000000000 : bits, 8);
  }
  if (tensor.dtype == DType::kBFloat16) return HalfBytes(tensor.Data<uint16_t>()[i], 8);
  if (tensor.dtype == DType::kFloat16) return HalfBytes(tensor.Data<uint16_t>()[i], 5);
  if (tensor.dtype == DType::kBool) return LittleEndian(tensor.Data<uint8_t>()[i], 1);
  if (tensor.dtype == DType::kInt64) return LittleEndian(static_cast<uint64_t>(tensor.Data<int64_t>()[i]), 8);
  throw std::logic_error("the reference gives no results of dtype " + std::string(Name(tensor.dtype)));
}

/// The remainder of the bytes, as a polynomial over two elements, times x^16, by x^16 + x^12 + x^5 + 1.
unsigned Remainder(const Bytes& bytes) {
  unsigned remainder = 0;
  for (size_t bit = 0; bit < 8 * (bytes.size() + 2); ++bit) {
    const unsigned next = bit / 8 < bytes.size() ? bytes[bit / 8] >> (7 - bit % 8) & 1u : 0u;
    remainder = remainder << 1 | next;
    if (remainder > 0xffff) remainder ^= 0x11021;
  }
  return remainder;
}

}  // namespace

std::string MarksOf(const std::vector<TensorView>& results) {
  std::vector<Bytes> elements;
  for (const TensorView& result : results) {
    for (int64_t i = 0; i < result.numel(); ++i) elements.push_back(ElementBytes(result, i));
  }
  if (elements.empty()) return "-";
  const size_t length = (elements.size() + 63) / 64;
  std::string marks;
  for (size_t begin = 0; begin < elements.size(); begin += length) {
    Bytes block;
    for (size_t i = begin; i < std::min(begin + length, elements.size()); ++i) {
      block.insert(block.end(), elements[i].begin(), elements[i].end());
    }
    char text[8];
    std::snprintf(text, sizeof text, "%04x", Remainder(block));
    marks += text;
  }
  return marks;
}

}  // namespace repdl::reference

// SPDX-License-Identifier: MIT
#include "repdl/digest.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "base/arena.h"
#include "base/contiguous.h"
#include "base/sha256.h"
#include "repdl/conformance.h"
#include "repdl/error.h"

namespace repdl {
namespace {

template <class T>
void AppendElements(const T* elements, int64_t count, Sha256& hash) {
  // Little-endian bytes, in pieces so that memory stays small.
  std::array<std::byte, 4096> bytes;
  size_t used = 0;
  for (int64_t i = 0; i < count; ++i) {
    T value = elements[i];
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(value)) value = std::bit_cast<T>(uint32_t{0x7fc00000});
    }
    std::array<std::byte, sizeof(T)> element;
    std::memcpy(element.data(), &value, sizeof(T));
    if constexpr (std::endian::native == std::endian::big) std::ranges::reverse(element);
    std::copy(element.begin(), element.end(), bytes.begin() + used);
    used += sizeof(T);
    if (used == bytes.size()) {
      hash.Update(bytes);
      used = 0;
    }
  }
  hash.Update(std::span(bytes).first(used));
}

/// 16-bit floats as their bits; above `infinity` is NaN, all read as one.
void AppendHalves(const TensorView& rows, uint16_t infinity, uint16_t nan, Sha256& hash) {
  std::vector<uint16_t> bits(rows.Data<const uint16_t>(), rows.Data<const uint16_t>() + rows.numel());
  for (uint16_t& x : bits) {
    if ((x & 0x7fff) > infinity) x = nan;
  }
  AppendElements(bits.data(), rows.numel(), hash);
}

void Append(const TensorView& tensor, Sha256& hash) {
  Scratch scratch;
  const TensorView rows = Contiguous(tensor, scratch);
  switch (tensor.dtype) {
    case DType::kFloat32: return AppendElements(rows.Data<const float>(), rows.numel(), hash);
    case DType::kBFloat16: return AppendHalves(rows, 0x7f80, 0x7fc0, hash);
    case DType::kFloat16: return AppendHalves(rows, 0x7c00, 0x7e00, hash);
    case DType::kInt64: return AppendElements(rows.Data<const int64_t>(), rows.numel(), hash);
    default:
      throw TypeError(Message("[digest] tensor must be float32, bfloat16, float16 or int64, got ", Name(tensor.dtype)));
  }
}

}  // namespace

std::string Digest(const TensorView& tensor) {
  Sha256 hash;
  Append(tensor, hash);
  return hash.HexDigest();
}

std::string Digest(const std::vector<TensorView>& tensors) {
  Sha256 hash;
  for (const TensorView& tensor : tensors) Append(tensor, hash);
  return hash.HexDigest();
}

}  // namespace repdl

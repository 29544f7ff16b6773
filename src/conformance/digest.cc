// SPDX-License-Identifier: MIT
#include "repdl/digest.h"

#include "base/sha256.h"
#include "conformance/elements.h"
#include "repdl/conformance.h"

namespace repdl {
namespace {

void Append(const TensorView& tensor, Sha256& hash) {
  // Little-endian bytes, in pieces so that memory stays small.
  std::array<std::byte, 4096> bytes;
  size_t used = 0;
  VisitElements("digest", tensor, [&](auto bits) {
    for (size_t i = 0; i < sizeof bits; ++i) bytes[used + i] = static_cast<std::byte>(bits >> (8 * i));
    used += sizeof bits;
    if (used == bytes.size()) {
      hash.Update(bytes);
      used = 0;
    }
  });
  hash.Update(std::span(bytes).first(used));
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

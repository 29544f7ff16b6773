// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace repdl {

/// SHA-256 (FIPS 180-4). The core carries its own so that it cross-compiles with no dependency but
/// Highway: Debian packages no header-only one. Python code uses hashlib.
class Sha256 {
 public:
  void Update(std::span<const std::byte> bytes);
  std::string HexDigest();  // ends the message

 private:
  void Block(const std::byte* block);

  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, 64> pending_;
  size_t num_pending_ = 0;
  uint64_t num_bytes_ = 0;
};

}  // namespace repdl

// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

namespace repdl {

struct CosineAndSine {
  double cosine, sine;
};

/// The cosine and the sine of j / n turns for every j: correctly rounded, +0 where they are 0.
class RootsOfUnity {
 public:
  /// n is from 1 to 2^58.
  explicit RootsOfUnity(int64_t n);
  CosineAndSine At(int64_t j) const;
  int64_t n() const { return n_; }

 private:
  int64_t n_, common_;                       // common_ divides 8 and n
  std::vector<CosineAndSine> first_eighth_;  // of j common_ / 8n turns
};

}  // namespace repdl

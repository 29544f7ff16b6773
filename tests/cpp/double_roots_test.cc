// SPDX-License-Identifier: MIT
// Roots of unity against MPFR.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>

#include "numerics/root_of_unity.h"
#include "reference/real.h"

namespace repdl {
namespace {

using reference::Real;

TEST(DoubleRoots, AreCorrectlyRounded) {
  for (const int64_t n : {1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 31, 60, 400, 997, 1000, 4096, 65536, 1048583}) {
    const RootsOfUnity roots(n);
    for (int64_t j = 0; j < 2 * n; j += std::max<int64_t>(n / 1000, 1)) {
      const auto [cosine, sine] = roots.At(j);
      const int64_t k = j % n;
      const Real angle = Real(2.0) * reference::Pi() * Real(static_cast<double>(k)) / Real(static_cast<double>(n));
      const bool no_cosine = 4 * k == n || 4 * k == 3 * n, no_sine = 2 * k % n == 0;
      const double expected_cosine = no_cosine ? 0.0 : mpfr_get_d(Real::Of(mpfr_cos, angle.get()).get(), MPFR_RNDN);
      const double expected_sine = no_sine ? 0.0 : mpfr_get_d(Real::Of(mpfr_sin, angle.get()).get(), MPFR_RNDN);
      EXPECT_EQ(std::bit_cast<uint64_t>(cosine), std::bit_cast<uint64_t>(expected_cosine)) << j << " of " << n;
      EXPECT_EQ(std::bit_cast<uint64_t>(sine), std::bit_cast<uint64_t>(expected_sine)) << j << " of " << n;
    }
  }
}

}  // namespace
}  // namespace repdl

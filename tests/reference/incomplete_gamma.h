// SPDX-License-Identifier: MIT
#pragma once

namespace repdl::reference {

/// P(a, x), or Q(a, x), by the steps of igamma's contract.
double IncompleteGamma(double a, double x, bool is_upper);

}  // namespace repdl::reference

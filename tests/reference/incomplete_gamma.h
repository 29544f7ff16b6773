// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

namespace repdl::reference {

/// P(a, x), or Q(a, x), by the steps of igamma's contract.
double IncompleteGamma(double a, double x, bool is_upper);

/// The doubles nearest to d(k, n), a row for each k.
std::vector<std::vector<double>> TemmeRows();

/// Those nearest to the coefficients of 1 / gamma*(a) in 1 / a.
std::vector<double> OverGammaStarRow();

}  // namespace repdl::reference

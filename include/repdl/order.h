// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace repdl {

/// The order of every sum: see docs/arithmetic.md.
enum class Order {
  kBlocked,     ///< chains and lanes of fixed length that meet in an aligned binary tree
  kSequential,  ///< one chain from the first term to the last, as in microsoft/RepDL 0.1
};

/// "blocked" or "sequential"; throws ValueError for any other text.
Order ParseOrder(std::string_view text);

std::string_view Name(Order order);

}  // namespace repdl

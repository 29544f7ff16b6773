// SPDX-License-Identifier: MIT
#include "repdl/order.h"

#include "repdl/error.h"

namespace repdl {

Order ParseOrder(std::string_view text) {
  if (text == "blocked") return Order::kBlocked;
  if (text == "sequential") return Order::kSequential;
  throw ValueError(Message("order must be 'blocked' or 'sequential', got '", text, "'"));
}

std::string_view Name(Order order) { return order == Order::kBlocked ? "blocked" : "sequential"; }

}  // namespace repdl

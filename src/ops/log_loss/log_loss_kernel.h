// SPDX-License-Identifier: MIT
#pragma once

#include "base/kernel.h"
#include "drivers/map.h"

namespace repdl {

enum class LogLoss : uint8_t {
  kBinaryCrossEntropy,
  kWeightedEntropy,
  kBinaryCrossEntropyGrad,
  kWeightedEntropyGrad,
  kSoftMargin,
  kSoftMarginGrad
};

struct LogLossArgs {
  LogLoss op;
  MapArgs map;
  double part;  // rounded to the type that is computed in
};

REPDL_KERNEL(LogLossKernel, LogLossArgs)

}  // namespace repdl

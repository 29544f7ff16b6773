// SPDX-License-Identifier: MIT
#pragma once

#include "base/cpu_target.h"

/// REPDL_KERNEL for a template of arguments: a kernel of float and one of double.
#define REPDL_REAL_KERNEL(Kernel, Args) \
  REPDL_KERNEL(Kernel, Args<float>)     \
  REPDL_KERNEL(Kernel, Args<double>)

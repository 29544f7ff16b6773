// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/kernel.h"
#include "drivers/index_terms.h"

namespace repdl {

enum class IndexReduction : uint8_t { kSum, kMean, kProd, kAmax, kAmin };

/// `Terms` meet the numbers of the output, which keeps what no term meets. Without `include_self` the others begin anew.
template <class Terms>
struct ReductionArgs {
  Terms terms;
  IndexReduction reduce;
  bool include_self;
};

template <class T>
using IndexReduceArgs = ReductionArgs<RowTerms<T>>;
template <class T>
using ScatterReduceArgs = ReductionArgs<NumberTerms<T>>;

REPDL_REAL_KERNEL(IndexReduceKernel, IndexReduceArgs)
REPDL_REAL_KERNEL(ScatterReduceKernel, ScatterReduceArgs)

}  // namespace repdl

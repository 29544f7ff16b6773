// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "functions.h"
#include "inputs.h"
#include "repdl/op.h"
#include "repdl/tensor.h"

namespace repdl::prove {

/// What runs an op: "scalar", "avx2", …, or "cuda:0".
struct Target {
  std::string name;
  bool cuda;
  std::string processor, compiler;
};

/// Those that this build has and this machine can run, fastest first.
std::vector<Target> Targets();

/// Whether the op takes this dtype.
bool Takes(const OpInfo& op, const reference::Function& function, DType dtype);

/// Runs the op on a target. A derivative is multiplied by 1. The results are bits of the float32 that they are.
void Evaluate(const OpInfo& op, const reference::Function& function, DType dtype, const Target& target,
              const Batch& batch, std::vector<uint32_t>& bits);

/// The same for float64, with the results as they are; functions of one number ignore y.
void EvaluateDoubles(const OpInfo& op, const reference::Function& function, const Target& target,
                     const std::vector<double>& x, const std::vector<double>& y, std::vector<double>& out);

}  // namespace repdl::prove

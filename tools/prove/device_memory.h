// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "repdl/tensor.h"

namespace repdl::prove {

/// "nvcc 13.0"; empty without CUDA in this build.
std::string CudaCompiler();

/// Calls `run` with copies of the operands on device 0 and with a result there, which is then copied to `result`.
void RunOnDevice(const std::vector<TensorView>& operands, const TensorView& result,
                 const std::function<void(const std::vector<TensorView>&, const TensorView&)>& run);

}  // namespace repdl::prove

// SPDX-License-Identifier: MIT
#pragma once

#include "reference.h"
#include "tensors.h"

// One function for each op: reads the case, computes, packs the results.

namespace repdl::reference {

Results RunAdamStep(const Case& test_case);
Results RunAdamWStep(const Case& test_case);
Results RunBatchNorm(const Case& test_case);
Results RunBatchNormEval(const Case& test_case);
Results RunBatchNormEvalGrad(const Case& test_case);
Results RunBatchNormGrad(const Case& test_case);
Results RunBatchNormUpdate(const Case& test_case);
Results RunConv2d(const Case& test_case);
Results RunConv2dGradInput(const Case& test_case);
Results RunConv2dGradKernel(const Case& test_case);
Results RunCrossEntropy(const Case& test_case);
Results RunCrossEntropyGrad(const Case& test_case);
Results RunDiv(const Case& test_case);
Results RunExp(const Case& test_case);
Results RunLinear(const Case& test_case);
Results RunLog(const Case& test_case);
Results RunLogSoftmax(const Case& test_case);
Results RunLogSoftmaxGrad(const Case& test_case);
Results RunMaxPool2d(const Case& test_case);
Results RunMaxPool2dGrad(const Case& test_case);
Results RunMean(const Case& test_case);
Results RunMm(const Case& test_case);
Results RunRelu(const Case& test_case);
Results RunReluGrad(const Case& test_case);
Results RunSgdStep(const Case& test_case);
Results RunSoftmax(const Case& test_case);
Results RunSoftmaxGrad(const Case& test_case);
Results RunSqrt(const Case& test_case);
Results RunSum(const Case& test_case);
Results RunUniform(const Case& test_case);

}  // namespace repdl::reference

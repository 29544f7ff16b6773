// SPDX-License-Identifier: MIT
#include "reference.h"

#include <stdexcept>
#include <string>
#include <string_view>

#include "ops.h"

namespace repdl::reference {
namespace {

struct Entry {
  std::string_view name;
  Results (*run)(const Case&);
};

constexpr Entry kOps[] = {
    {"adam_step", RunAdamStep},
    {"adamw_step", RunAdamWStep},
    {"batch_norm", RunBatchNorm},
    {"batch_norm_eval", RunBatchNormEval},
    {"batch_norm_eval_grad", RunBatchNormEvalGrad},
    {"batch_norm_grad", RunBatchNormGrad},
    {"batch_norm_update", RunBatchNormUpdate},
    {"conv2d", RunConv2d},
    {"conv2d_grad_input", RunConv2dGradInput},
    {"conv2d_grad_kernel", RunConv2dGradKernel},
    {"cross_entropy", RunCrossEntropy},
    {"cross_entropy_grad", RunCrossEntropyGrad},
    {"div", RunDiv},
    {"exp", RunExp},
    {"linear", RunLinear},
    {"log", RunLog},
    {"log_softmax", RunLogSoftmax},
    {"log_softmax_grad", RunLogSoftmaxGrad},
    {"max_pool2d", RunMaxPool2d},
    {"max_pool2d_grad", RunMaxPool2dGrad},
    {"mean", RunMean},
    {"mm", RunMm},
    {"relu", RunRelu},
    {"relu_grad", RunReluGrad},
    {"sgd_step", RunSgdStep},
    {"softmax", RunSoftmax},
    {"softmax_grad", RunSoftmaxGrad},
    {"sqrt", RunSqrt},
    {"sum", RunSum},
    {"uniform", RunUniform},
};

}  // namespace

Results Run(const Case& test_case) {
  for (const Entry& entry : kOps) {
    if (entry.name == test_case.op().name) return entry.run(test_case);
  }
  throw std::logic_error("the reference does not know the op " + std::string(test_case.op().name));
}

std::vector<std::string> KnownOps() {
  std::vector<std::string> names;
  for (const Entry& entry : kOps) names.emplace_back(entry.name);
  return names;
}

}  // namespace repdl::reference

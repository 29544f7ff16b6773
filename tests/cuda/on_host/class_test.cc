// SPDX-License-Identifier: MIT
// A class that is none: on a device no op can look at it before it returns, so that the kernel does.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "cuda/digest_on_device.h"
#include "repdl/conformance.h"

namespace repdl::testing {
namespace {

/// What the call of a case says whose targets are other ones.
std::string ErrorOf(const std::string& text, const std::vector<int64_t>& classes) {
  const Case test_case(text);
  std::vector<Value> args(test_case.args().begin(), test_case.args().end());
  for (Value& arg : args) {
    auto* const tensor = std::get_if<TensorView>(&arg);
    if (tensor == nullptr) continue;
    if (tensor->dtype == DType::kInt64) std::ranges::copy(classes, tensor->Data<int64_t>());
    tensor->device = kDevice;  // whose memory is the host's
  }
  std::vector<TensorView> outputs;
  TensorMemory memory;
  for (TensorView output : memory.New(test_case.op().infer(args))) {
    output.device = kDevice;
    outputs.push_back(output);
  }
  try {
    test_case.op().run(args, outputs);
  } catch (const CudaError& error) {
    return error.what();
  }
  return "";
}

TEST(CudaClasses, OneThatIsNoneStopsTheKernel) {
  const std::string of_loss = "input=normal[3, 5]#1, target=classes5[3]#2, weight=positive[5]#3";
  for (const std::string& text : {
           "cross_entropy(" + of_loss + ")",
           "cross_entropy(" + of_loss + ", reduction='none')",
           "cross_entropy_grad(grad_output=normal[]#4, " + of_loss + ")",
           "nll_loss(" + of_loss + ")",
           "nll_loss_grad(grad_output=normal[]#4, " + of_loss +
               ", reduction='mean', ignore_index=-100, "
               "total_weight=normal[]#5)",
           "multi_margin(" + of_loss + ")",
           "multi_margin_grad(grad_output=normal[3]#4, " + of_loss + ")",
       }) {
    for (const int64_t wrong : {int64_t{5}, int64_t{-1}, int64_t{1} << 32, INT64_MIN}) {
      const std::string error = ErrorOf(text, {0, wrong, 4});
      EXPECT_NE(error.find("stops the kernel"), std::string::npos) << text << ", " << wrong << ": " << error;
    }
    EXPECT_EQ(ErrorOf(text, {0, 1, 4}), "") << text;
  }
}

}  // namespace
}  // namespace repdl::testing

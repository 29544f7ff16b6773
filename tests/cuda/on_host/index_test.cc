// SPDX-License-Identifier: MIT
// Indices, lengths and labels that the host cannot look at: one that is out of range stops the kernel.
#include <gtest/gtest.h>

#include "cuda/digest_on_device.h"
#include "repdl/error.h"

namespace repdl::testing {
namespace {

class CudaIndices : public ::testing::TestWithParam<const char*> {};

TEST_P(CudaIndices, OutOfRangeStopTheKernel) {
  EXPECT_THROW(Case(GetParam()).Run(), ValueError);  // so there is one in the call
  EXPECT_THROW(DigestOnDevice(Case(GetParam()), Relayout::kMisaligned), CudaError);
}

INSTANTIATE_TEST_SUITE_P(
    Calls, CudaIndices,
    ::testing::Values(
        "ctc_loss(log_probs=normal[6, 4, 3]#1, targets=classes9[4, 2]#2, input_lengths=classes7[4]#3, "
        "target_lengths=classes3[4]#4)",
        "ctc_loss(log_probs=normal[6, 4, 3]#1, targets=classes3[4, 2]#2, input_lengths=classes99[4]#3, "
        "target_lengths=classes3[4]#4)",
        "ctc_loss(log_probs=normal[6, 4, 3]#1, targets=classes3[4, 2]#2, input_lengths=classes7[4]#3, "
        "target_lengths=classes99[4]#4)",
        "ldl_solve(factors=dominant[5, 5]#1, pivots=classes99[5]#2, rows=normal[3, 5]#3)",
        "lu_solve(factors=dominant[5, 5]#1, pivots=classes99[5]#2, rows=normal[3, 5]#3)",
        "roi_align(input=normal[2, 3, 5, 7]#1, boxes=normal[4, 4]#2, indices=classes99[4]#3, "
        "output_size=(2, 3))",
        "roi_align_grad(grad_output=normal[4, 3, 2, 3]#1, boxes=normal[4, 4]#2, indices=classes99[4]#3, "
        "input_size=(2, 3, 5, 7))",
        "roi_pool(input=normal[2, 3, 5, 7]#1, boxes=normal[4, 4]#2, indices=classes99[4]#3, "
        "output_size=(2, 3))",
        "roi_pool_grad(grad_output=normal[4, 3, 2, 3]#1, places=classes99[4, 3, 2, 3]#2, "
        "indices=classes2[4]#3, input_size=(2, 3, 5, 7))",
        "roi_pool_grad(grad_output=normal[4, 3, 2, 3]#1, places=classes35[4, 3, 2, 3]#2, "
        "indices=classes99[4]#3, input_size=(2, 3, 5, 7))",
        "sampled_mm(input=normal[3, 4]#1, mat2=normal[4, 5]#2, row_indices=classes99[6]#3, "
        "col_indices=classes5[6]#4)",
        "sampled_mm(input=normal[3, 4]#1, mat2=normal[4, 5]#2, row_indices=classes3[6]#3, "
        "col_indices=classes99[6]#4)",
        "index_reduce(input=normal[9, 5]#1, dim=0, index=classes99[40]#2, source=normal[40, 5]#3, reduce='amax')",
        "scatter_reduce(input=normal[9, 5]#1, dim=1, index=classes99[9, 40]#2, src=normal[9, 40]#3, reduce='mean')",
        "segment_reduce(input=normal[9, 5]#1, lengths=classes99[3]#2)",
        "segment_reduce(input=normal[9, 5]#1, lengths=classes6[40]#2)",
        "segment_reduce_grad(grad_output=normal[3, 5]#1, output=normal[3, 5]#2, input=normal[9, 5]#3, "
        "lengths=classes99[3]#4)"));

}  // namespace
}  // namespace repdl::testing

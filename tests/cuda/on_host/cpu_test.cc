// SPDX-License-Identifier: MIT
// Calls that take ways of a kernel which no golden line takes: the bits of the CPU.
#include <gtest/gtest.h>

#include "cuda/digest_on_device.h"

namespace repdl::testing {
namespace {

class CudaAsOnCpu : public ::testing::TestWithParam<const char*> {};

TEST_P(CudaAsOnCpu, GivesTheSameBits) {
  EXPECT_EQ(DigestOnDevice(Case(GetParam()), Relayout::kMisaligned), Digest(Case(GetParam()).Run()));
}

INSTANTIATE_TEST_SUITE_P(
    Calls, CudaAsOnCpu,
    ::testing::Values(
        // Elements between the points of a bin that it does not have.
        "roi_align(input=normal[2, 3, 40, 50]#1, boxes=unit[5, 4]#2, indices=classes2[5]#3, output_size=(2, 3), "
        "spatial_scale=90.0, sampling_ratio=2)",
        "roi_align_grad(grad_output=normal[5, 3, 2, 3]#1, boxes=unit[5, 4]#2, indices=classes2[5]#3, "
        "input_size=(2, 3, 40, 50), spatial_scale=90.0, sampling_ratio=2)",
        // More segments than a block adds up at a time.
        "segment_reduce(input=normal[1500, 2]#1, lengths=classes4[700]#2)"));

}  // namespace
}  // namespace repdl::testing

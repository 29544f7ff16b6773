// SPDX-License-Identifier: MIT
// The tests of kernels on the host see what they are there for: each kernel here is right, or has one fault.
#include <cuda_pipeline_primitives.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "base/cuda_launch.h"
#include "cuda/digest_on_device.h"
#include "cuda/on_host/asan.h"

namespace repdl::cuda {
namespace {

enum class Fault {
  kNone,
  kNoBarrier,
  kNoWarpBarrier,
  kBarrierOfSome,
  kTwoBarriers,
  kExitBeforeBarrier,
  kExchangeOfSome,
  kSharedUnwritten,
  kSharedOverrun,
  kReadOutside,
  kWriteOutside,
  kNoWaitForCopy,
  kBlocksInOrder,
};

constexpr int kThreads = 96;

struct ReverseArgs {
  Fault fault;
  const float* x;
  float* y;
};

/// y = x turned around, within each block of kThreads numbers; then the halves of pairs of lanes swapped twice.
__global__ void __launch_bounds__(kThreads) ReverseKernel(const __grid_constant__ ReverseArgs args) {
  float* const shared = SharedMemory<float>();
  const int t = static_cast<int>(threadIdx.x), block = static_cast<int>(blockIdx.x);
  const Fault fault = args.fault;
  if (fault == Fault::kExitBeforeBarrier && t == 7) return;
  if (fault == Fault::kReadOutside || fault == Fault::kWriteOutside) {
    const int at = block * kThreads + t + 1;
    if (fault == Fault::kReadOutside) args.y[at - 1] = args.x[at];
    if (fault == Fault::kWriteOutside) args.y[at] = args.x[at - 1];
    return;
  }
  if (fault == Fault::kBlocksInOrder) {
    args.y[block * kThreads + t] = block == 0 ? args.x[t] : args.y[t];
    return;
  }
  if (fault != Fault::kSharedUnwritten || t != 5) {
    __pipeline_memcpy_async(shared + t, args.x + block * kThreads + t, sizeof(float));
  }
  __pipeline_commit();
  if (fault != Fault::kNoWaitForCopy) __pipeline_wait_prior(0);
  if (fault == Fault::kSharedOverrun) shared[kThreads + t] = 1;
  if (fault == Fault::kTwoBarriers && t < 32) {
    __syncthreads();
  } else if (fault != Fault::kNoBarrier && (fault != Fault::kBarrierOfSome || t != 40)) {
    __syncthreads();
  }
  float value = shared[kThreads - 1 - t];
  if (fault == Fault::kExchangeOfSome) {
    if (t % 32 < 16) value = __shfl_xor_sync(~0u, value, 1);
  } else {
    value = __shfl_xor_sync(~0u, value, 1);
    value = __shfl_xor_sync(~0u, value, 1);
  }
  if (fault == Fault::kNoWarpBarrier) {
    shared[kThreads - 1 - t] = value;
    args.y[block * kThreads + t] = shared[kThreads - 1 - (t ^ 1)];
    value = args.y[block * kThreads + t];
    shared[kThreads - 1 - t] = -value;
    value = -shared[kThreads - 1 - (t ^ 1)];
  }
  if (fault == Fault::kBarrierOfSome || fault == Fault::kExchangeOfSome) __syncthreads();
  args.y[block * kThreads + t] = value;
}

/// What the kernel gives in a schedule: "right", "wrong", or the error.
std::string Outcome(Fault fault, uint32_t schedule) {
  constexpr int kBlocks = 3, kCount = kBlocks * kThreads;
  std::vector<float> x(kCount), y(kCount), want(kCount);
  for (int i = 0; i < kCount; ++i) {
    x[static_cast<size_t>(i)] = static_cast<float>(i + 1);
    want[static_cast<size_t>(i)] = static_cast<float>(i / kThreads * kThreads + kThreads - i % kThreads);
    if (fault == Fault::kBlocksInOrder) want[static_cast<size_t>(i)] = static_cast<float>(i % kThreads + 1);
    if (fault == Fault::kReadOutside) want[static_cast<size_t>(i)] = static_cast<float>(i + 2);
  }
  const testing::DeviceMemory from(std::as_bytes(std::span(x))), to(kCount * sizeof(float));
  const ReverseArgs args{fault, reinterpret_cast<const float*>(from.data()), reinterpret_cast<float*>(to.data())};
  on_host::SetSchedule(schedule);
  try {
    const Place place{"reverse", testing::kDevice};
    Launch(place, Grid{kBlocks, kThreads, kThreads * sizeof(float)}, &ReverseKernel, args);
  } catch (const CudaError& error) {
    return error.what();
  }
  testing::Must(cudaMemcpy(y.data(), to.data(), kCount * sizeof(float), cudaMemcpyDeviceToHost));
  return y == want ? "right" : "wrong";
}

std::set<std::string> Outcomes(Fault fault) {
  std::set<std::string> outcomes;
  for (uint32_t schedule = 1; schedule <= 8; ++schedule) outcomes.insert(Outcome(fault, schedule));
  return outcomes;
}

/// All schedules give an error that has the words.
void ExpectError(Fault fault, std::string_view words) {
  for (const std::string& outcome : Outcomes(fault)) EXPECT_NE(outcome.find(words), std::string::npos) << outcome;
}

/// Some schedule gives other numbers.
void ExpectWrong(Fault fault) { EXPECT_TRUE(Outcomes(fault).contains("wrong")); }

/// All schedules are found by the guards, or by the address sanitizer.
void ExpectOverrun(Fault fault, [[maybe_unused]] std::string_view words) {
#ifdef REPDL_ASAN
  EXPECT_DEATH(Outcome(fault, 1), "AddressSanitizer");
#else
  if (words.empty()) {
    EXPECT_EQ(Outcomes(fault), std::set<std::string>{"wrong"});
  } else {
    ExpectError(fault, words);
  }
#endif
}

TEST(CudaOnHostFaults, NoneIsSeenInARightKernel) { EXPECT_EQ(Outcomes(Fault::kNone), std::set<std::string>{"right"}); }
TEST(CudaOnHostFaults, AMissingBarrier) { ExpectWrong(Fault::kNoBarrier); }
TEST(CudaOnHostFaults, AMissingBarrierOfAWarp) { ExpectWrong(Fault::kNoWarpBarrier); }
TEST(CudaOnHostFaults, ABarrierNotReachedByAll) {
  ExpectError(Fault::kExitBeforeBarrier,
              "thread 7 of the block has ended, and others wait at the barrier faults_test.cc");
  ExpectError(Fault::kBarrierOfSome, "wait");
  ExpectError(Fault::kTwoBarriers, "threads of the block wait at different barriers");
}
TEST(CudaOnHostFaults, AnExchangeNotReachedByAll) { ExpectError(Fault::kExchangeOfSome, "wait"); }
TEST(CudaOnHostFaults, SharedMemoryReadBeforeItIsWritten) {
  EXPECT_EQ(Outcomes(Fault::kSharedUnwritten), std::set<std::string>{"wrong"});
}
TEST(CudaOnHostFaults, TheEndOfSharedMemory) { ExpectOverrun(Fault::kSharedOverrun, "behind its shared memory"); }
TEST(CudaOnHostFaults, AnIndexOutOfATensor) {
  ExpectOverrun(Fault::kReadOutside, "");
  ExpectOverrun(Fault::kWriteOutside, "wrote outside of the memory that it was given");
}
TEST(CudaOnHostFaults, ACopyThatNobodyWaitsFor) { ExpectWrong(Fault::kNoWaitForCopy); }
TEST(CudaOnHostFaults, BlocksThatNeedAnOrder) { ExpectWrong(Fault::kBlocksInOrder); }

}  // namespace
}  // namespace repdl::cuda
